"""Reading the tensors that a verb is given: ``FILE.npy`` or ``FILE.npz:KEY``.

On damaged bytes NumPy and zipfile raise what comes along, from TokenError to MemoryError, and there
is no list of it; so each ``except Exception`` here stands around their code alone.
"""

import zipfile
from pathlib import Path

from cdma.errors import UserError

#: Keys of an archive that a message lists.
_KEYS_SHOWN = 4


def load_tensor(name: str):
    """Read a tensor.

    Parameters
    ----------
    name : str
        ``FILE.npy``, ``FILE.npz:KEY``, or ``FILE.npz`` when it holds one array.

    Returns
    -------
    ndarray
        The array as stored: any shape, byte order and memory order; booleans, integers, floating
        point or complex numbers of 1, 2, 4 or 8 bytes. Elements without a NumPy type of their own
        (bfloat16 and the 8-bit floats are saved as raw bytes) come as unsigned words.

    Raises
    ------
    UserError
        When there is no such file or key, when it is damaged, or when it holds anything else.
    """
    path, key = _split(name)
    if path.is_dir():
        raise UserError(f"{path}: is a folder, expected an .npy or .npz file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    with file:
        array = _read_npy(file, name) if path.suffix == ".npy" else _read_npz(file, path, key)
    return _as_numbers(array, name)


def _split(name: str) -> tuple[Path, str | None]:
    head, found, key = name.partition(".npz:")
    if found:
        return Path(head + ".npz"), key
    path = Path(name)
    if path.suffix not in (".npy", ".npz"):
        raise UserError(f"{name}: unknown type of file, expected FILE.npy or FILE.npz:KEY")
    return path, None


def _read_npz(file, path: Path, key: str | None):
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:
        raise UserError(f"{path}: not an .npz file ({error})") from error
    with archive:
        members = {member.removesuffix(".npy"): member for member in archive.namelist()}
        if key is None and len(members) == 1:
            (key,) = members
        if key not in members:
            problem = "name one of its arrays" if key is None else f"no array {key!r}"
            raise UserError(f"{path}: {problem}, {_some_of(list(members), path)}")
        name = f"{path}:{key}"
        try:
            member = archive.open(members[key])
        except Exception as error:
            raise UserError(f"{name}: damaged file ({error})") from error
        with member:
            return _read_npy(member, name)


def _some_of(keys: list[str], path: Path) -> str:
    if not keys:
        return "it is empty"
    shown = ", ".join(f"{path.name}:{key}" for key in keys[:_KEYS_SHOWN])
    return f"there are {len(keys)}: {shown}{', ...' if len(keys) > _KEYS_SHOWN else ''}"


def _read_npy(file, name: str):
    import numpy as np

    try:
        array = np.lib.format.read_array(file, allow_pickle=False)
        extra = file.read(1)  # an archive also checks its CRC when it meets the end
    except Exception as error:
        # NumPy has no exception of its own for this, and reading such a file would run its code.
        if "bject array" in str(error):
            raise UserError(
                f"{name}: holds Python objects, expected an array of numbers"
            ) from error
        raise UserError(f"{name}: damaged or not an .npy file ({error})") from error
    if extra:
        raise UserError(f"{name}: damaged file (bytes follow after the array)")
    return array


def _as_numbers(array, name: str):
    dtype = array.dtype
    if dtype.kind == "V" and dtype.names is None and dtype.itemsize in (1, 2):
        return array.view(f"<u{dtype.itemsize}")
    if dtype.kind not in "biufc" or dtype.itemsize not in (1, 2, 4, 8):
        raise UserError(f"{name}: elements are {dtype}, expected numbers of 1, 2, 4 or 8 bytes")
    return array
