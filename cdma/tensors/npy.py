"""``.npy`` files, mapped into memory.

On damaged bytes, NumPy and zipfile raise many types of exceptions, from TokenError to MemoryError,
and no document lists these types. So each ``except Exception`` here and in ``npz`` encloses only
calls of NumPy and zipfile.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cdma.errors import UserError


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """The function that maps the only array, with the key ``""``."""
    yield {"": lambda: _map(path)}


def refusal(name: str, error: Exception) -> UserError:
    """Message for an exception that NumPy raised on the bytes of an array."""
    # NumPy has no special exception for these files. Reading them would run code of the file.
    if "bject array" in str(error) or "Python objects" in str(error):
        return UserError(f"{name}: holds Python objects, expected an array of numbers")
    return UserError(f"{name}: damaged or not an .npy file ({error})")


def as_numbers(array: np.ndarray) -> np.ndarray:
    """The array. Raw bytes (element types that NumPy lacks) become unsigned words."""
    dtype = array.dtype
    if dtype.kind == "V" and dtype.names is None and dtype.itemsize in (1, 2):
        return array.view(unsigned(dtype.itemsize, dtype.str.strip("|<>")))
    return array


def unsigned(itemsize: int, stored_as: str) -> np.dtype:
    """Unsigned words for a stored type that NumPy lacks. The metadata has the name of the type."""
    return np.dtype(f"<u{itemsize}", metadata={"stored_as": stored_as})


def _map(path: Path) -> np.ndarray:
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
        extra = path.stat().st_size - mapped.offset - mapped.nbytes
    except Exception as error:
        raise refusal(str(path), error) from error
    if extra:
        raise UserError(f"{path}: damaged file (bytes follow after the array)")
    return as_numbers(np.asarray(mapped))
