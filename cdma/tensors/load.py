"""Read the tensors of a command: ``FILE.npy``, or ``FILE:KEY`` for a file with several tensors.

Each file type has a module with a function that returns readers by key. Each reader reads one
tensor, so only requested tensors are read. ``.npy``, ``.safetensors`` and ``.pt`` files are mapped
into memory and not copied. The only array of a file has the key ``""``.
"""

import importlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from cdma.errors import UserError

#: Modules by file suffix.
MODULES = {
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "safetensors",
    ".pt": "torch",
    ".pth": "torch",
}
#: Names of tensors, for the help of the commands.
NAMING = "FILE.npy, or FILE:KEY with FILE an .npz, .safetensors, .pt or .pth file"
_KEYED = re.compile(r"(.*?\.(?:npz|safetensors|pth?)):(.*)", re.DOTALL)
#: Keys of an archive that a message lists.
_KEYS_SHOWN = 4


def load_tensor(name: str):
    """Read a tensor.

    Parameters
    ----------
    name : str
        ``FILE.npy``; or ``FILE:KEY`` with an ``.npz``, ``.safetensors``, ``.pt`` or ``.pth`` file.
        A file with one tensor needs no ``:KEY``. Keys of nested PyTorch objects are joined with
        ``/``, as in ``checkpoint.pt:state_dict/conv1.weight``.

    Returns
    -------
    ndarray
        The array as stored, possibly a read-only view of the file: any shape, byte order and memory
        order; booleans, integers, floating point or complex numbers of 1, 2, 4 or 8 bytes. 8-bit
        floats are returned as unsigned words. bfloat16 is returned as bfloat16 if ``ml_dtypes`` is
        installed and the file is no NumPy file, else as unsigned words.

    Raises
    ------
    UserError
        When the file or the key does not exist, the file is damaged or has other content, or a
        package that reads such files is not installed.
    """
    path, key = split(name)
    with _opened(path) as tensors:
        keys = _select(tensors, path, key)
        if len(keys) > 1:
            raise UserError(f"{path}: name one of its arrays, {_some_of(keys, path)}")
        return _read(tensors, path, keys[0])


def each(name: str) -> Iterator[tuple]:
    """Read all tensors of a file, one at a time.

    Parameters
    ----------
    name : str
        A file, or ``FILE:KEY`` for one tensor of the file.

    Yields
    ------
    name : str
        Name of the tensor for ``load_tensor``.
    array : ndarray
        See ``load_tensor``. The iterator keeps no reference to the array.

    Raises
    ------
    UserError
        See ``load_tensor``. Also when the file has no tensor.
    """
    path, key = split(name)
    with _opened(path) as tensors:
        for selected in _select(tensors, path, key):
            yield _join(path, selected, tensors), _read(tensors, path, selected)


def names(name: str) -> list[str]:
    """Names that ``each`` yields, without reading their tensors.

    Raises
    ------
    UserError
        When the file cannot be opened, has no tensor, or does not have this tensor.
    """
    path, key = split(name)
    with _opened(path) as tensors:
        return [_join(path, selected, tensors) for selected in _select(tensors, path, key)]


def split(name: str) -> tuple[Path, str | None]:
    """File and key of a name. The key is ``None`` if the name has no key.

    Raises
    ------
    UserError
        When the suffix is not that of a file with tensors.
    """
    if keyed := _KEYED.fullmatch(name):
        return Path(keyed[1]), keyed[2]
    path = Path(name)
    if path.suffix not in MODULES:
        if name:
            _refuse_folder(path)
        file, colon, _ = name.rpartition(":")
        if colon and file.endswith(".npy"):
            raise UserError(f"{name}: an .npy file has one tensor and no keys, expected {file}")
        raise UserError(f"{name}: unknown type of file, expected {', '.join(MODULES)}")
    return path, None


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path}: is a folder, expected a file of tensors")


def _join(path: Path | str, key: str, keys: Collection[str]) -> str:
    """Name of one of the arrays of a file: a key may be empty beside others."""
    return f"{path}:{key}" if key or len(keys) > 1 else str(path)


def _opened(path: Path) -> AbstractContextManager[dict[str, Callable]]:
    """The functions that read the tensors of a file, by key, in the order of the file."""
    _refuse_folder(path)
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    return importlib.import_module(f"cdma.tensors.{MODULES[path.suffix]}").opened(path)


def _select(tensors: dict[str, Callable], path: Path, key: str | None) -> list[str]:
    """The given key, or all keys. At least one key."""
    if key in tensors:
        return [key]
    keys = list(tensors)
    if key is not None:
        raise UserError(f"{path}: no array {key!r}, {_some_of(keys, path)}")
    if not keys:
        raise UserError(f"{path}: holds no array")
    return keys


def _some_of(keys: list[str], path: Path) -> str:
    if not keys:
        return "it holds none"
    shown = ", ".join(_join(path.name, key, keys) for key in keys[:_KEYS_SHOWN])
    return f"there are {len(keys)}: {shown}{', ...' if len(keys) > _KEYS_SHOWN else ''}"


def _read(tensors: dict[str, Callable], path: Path, key: str):
    array = tensors[key]()
    dtype = array.dtype
    has_numbers = dtype.kind in "biufc" or dtype.name == "bfloat16"
    if not has_numbers or dtype.itemsize not in (1, 2, 4, 8):
        name = _join(path, key, tensors)
        raise UserError(f"{name}: elements are {dtype}, expected numbers of 1, 2, 4 or 8 bytes")
    return array
