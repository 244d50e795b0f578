"""The tensors that a verb is given: ``FILE.npy``, or ``FILE:KEY`` for a file that holds several.

Each kind of file has a module that gives, by key, functions which read one tensor each, so that
what is not asked for is not read. ``.npy``, ``.safetensors`` and ``.pt`` files are mapped into
memory and not copied. The array of a file that holds nothing else has the key ``""``.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from cdma.errors import UserError

#: What to import for a file of each kind.
MODULES = {
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "safetensors",
    ".pt": "torch",
    ".pth": "torch",
}
#: How a tensor is named, for the help of a verb.
NAMING = "FILE.npy, or FILE:KEY with FILE an .npz, .safetensors, .pt or .pth file"
_KEYED = re.compile(r"(.*?\.(?:npz|safetensors|pth?)):(.*)", re.DOTALL)
#: Keys of an archive that a message lists.
_KEYS_SHOWN = 4


def load_tensor(name: str):
    """Read a tensor.

    Parameters
    ----------
    name : str
        ``FILE.npy``; or ``FILE:KEY``, the file being ``.npz``, ``.safetensors``, ``.pt`` or
        ``.pth``; without ``:KEY`` when it holds one tensor. Keys of nested PyTorch objects are
        joined by ``/``, as in ``checkpoint.pt:state_dict/conv1.weight``.

    Returns
    -------
    ndarray
        The array as stored, perhaps a read-only view of the file: any shape, byte order and memory
        order; booleans, integers, floating point or complex numbers of 1, 2, 4 or 8 bytes. bfloat16
        comes as such where ``ml_dtypes`` is installed, else as unsigned words, like the 8-bit
        floats, and like both from NumPy files, which hold no more than their bytes.

    Raises
    ------
    UserError
        When there is no such file or key, when it is damaged, when it holds anything else, or when
        a package that reads such files is not installed.
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
        A file; ``FILE:KEY`` for one tensor of it.

    Yields
    ------
    name : str
        What ``load_tensor`` reads this one by.
    array : ndarray
        As ``load_tensor`` gives it. Nothing here refers to it any more when the next is asked for.

    Raises
    ------
    UserError
        As ``load_tensor``; also when the file holds no tensor.
    """
    path, key = split(name)
    with _opened(path) as tensors:
        for selected in _select(tensors, path, key):
            yield _join(path, selected), _read(tensors, path, selected)


def names(name: str) -> list[str]:
    """Names that ``each`` yields, without reading their tensors.

    Raises
    ------
    UserError
        When the file cannot be opened, or holds no tensor or not this one.
    """
    path, key = split(name)
    with _opened(path) as tensors:
        return [_join(path, selected) for selected in _select(tensors, path, key)]


def split(name: str) -> tuple[Path, str | None]:
    """File and key of a name; the key is ``None`` when there is none.

    Raises
    ------
    UserError
        When no such file can hold tensors, by its suffix.
    """
    if keyed := _KEYED.fullmatch(name):
        return Path(keyed[1]), keyed[2]
    path = Path(name)
    if path.suffix not in MODULES:
        raise UserError(f"{name}: unknown type of file, expected {', '.join(MODULES)}")
    return path, None


def _join(path: Path | str, key: str) -> str:
    return f"{path}:{key}" if key else str(path)


def _opened(path: Path) -> AbstractContextManager[dict[str, Callable]]:
    """The functions that read the tensors of a file, by key, in its order."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder, expected a file of tensors")
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    return importlib.import_module(f"cdma.tensors.{MODULES[path.suffix]}").opened(path)


def _select(tensors: dict[str, Callable], path: Path, key: str | None) -> list[str]:
    """The key, or all keys where none is given; at least one."""
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
    shown = ", ".join(_join(path.name, key) for key in keys[:_KEYS_SHOWN])
    return f"there are {len(keys)}: {shown}{', ...' if len(keys) > _KEYS_SHOWN else ''}"


def _read(tensors: dict[str, Callable], path: Path, key: str):
    array = tensors[key]()
    dtype = array.dtype
    has_numbers = dtype.kind in "biufc" or dtype.name == "bfloat16"
    if not has_numbers or dtype.itemsize not in (1, 2, 4, 8):
        raise UserError(
            f"{_join(path, key)}: elements are {dtype}, expected numbers of 1, 2, 4 or 8 bytes"
        )
    return array
