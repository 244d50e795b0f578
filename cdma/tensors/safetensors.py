"""``.safetensors`` files, mapped into memory.

The library checks the file. Its NumPy reader would copy each tensor, and lacks 8-bit floats.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from cdma.errors import UserError, require
from cdma.golden.container.elements import numpy_dtype
from cdma.tensors.npy import unsigned

_TYPES = {
    "BOOL": "bool",
    "C64": "complex64",
    "BF16": "bfloat16",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
}
#: Types that are read as unsigned words, with the names of ``ml_dtypes`` for these types.
FLOAT8 = {
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """Functions that map the tensors, by their names."""
    library = require("safetensors", extra="safetensors", verb=str(path))
    try:
        # Refuses invalid headers, sizes that differ from type and shape, and bytes that belong to
        # no tensor or to two tensors.
        with library.safe_open(path, "np"):
            pass
    except library.SafetensorError as error:
        raise UserError(f"{path}: damaged or not a .safetensors file ({error})") from error
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.tell()
    header.pop("__metadata__", None)
    yield {key: partial(_map, path, key, data, entry) for key, entry in header.items()}


def _map(path: Path, key: str, data: int, entry: dict) -> np.ndarray:
    if entry["dtype"] not in _TYPES and entry["dtype"] not in FLOAT8:
        raise UserError(
            f"{path}:{key}: elements are {entry['dtype']}, expected numbers of 1, 2, 4 or 8 bytes"
        )
    kind, shape = entry["dtype"], tuple(entry["shape"])
    dtype = unsigned(1, FLOAT8[kind]) if kind in FLOAT8 else numpy_dtype(_TYPES[kind])
    start, end = entry["data_offsets"]
    try:
        if start == end:  # nothing to map
            return np.empty(shape, dtype)
        return np.asarray(np.memmap(path, dtype, "r", data + start, shape)).view(dtype)
    except ValueError as error:  # more or larger dimensions than NumPy supports
        raise UserError(f"{path}:{key}: NumPy has no such array ({error})") from error
