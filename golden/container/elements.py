"""Element types that a container can name."""

import numpy as np

_BUILT_IN = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64"),
)
#: Element types that a container can name.
DTYPES = (*_BUILT_IN, "bfloat16")


def item_bytes(name: str) -> int:
    """Bytes of an element."""
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def numpy_dtype(name: str) -> np.dtype:
    """Type to give elements back as."""
    if name != "bfloat16":
        return np.dtype(name).newbyteorder("<")
    try:
        from ml_dtypes import bfloat16  # optional: NumPy has no bfloat16 of its own
    except ImportError:
        return np.dtype("<u2")
    return np.dtype(bfloat16)
