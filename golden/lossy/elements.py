"""Floating-point elements as float64, and back with one rounding."""

import numpy as np

#: Bytes of the element types that the codec takes.
ELEMENTS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def to_float64(words: np.ndarray, dtype: str) -> np.ndarray:
    """Values of bit patterns, exactly.

    Parameters
    ----------
    words : ndarray of little-endian unsigned words
        As wide as ``dtype``.
    dtype : str
        One of ``ELEMENTS``.

    Returns
    -------
    ndarray of float64, same shape
    """
    if dtype == "bfloat16":
        values = (words.astype("<u4") << np.uint32(16)).view("<f4")
    else:
        values = words.view(np.dtype(dtype).newbyteorder("<"))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return values.astype(np.float64)


def from_float64(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bit patterns of values, rounded once: to the nearest, ties to even.

    Parameters
    ----------
    values : ndarray of float64
        No NaN. What is too large becomes infinite.
    dtype : str
        One of ``ELEMENTS``.

    Returns
    -------
    ndarray of little-endian unsigned words, same shape
    """
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "bfloat16":
            return _bfloat16_words(values)
        rounded = values.astype(np.dtype(dtype).newbyteorder("<"))
    return rounded.view(f"<u{ELEMENTS[dtype]}")


def _bfloat16_words(values: np.ndarray) -> np.ndarray:
    """Nearest bfloat16.

    A cast to float32 and a cast from there would round twice. So the first step rounds to odd: of
    the two neighbours of an inexact value it takes the one whose last bit is 1. Then no value
    becomes a tie of the second step that is none.
    """
    nearest = values.astype("<f4")
    back = nearest.astype(np.float64)
    bits = nearest.view("<u4")
    is_even = (back != values) & (bits & np.uint32(1) == 0)
    # The other neighbour lies towards the value: magnitudes are in the order of their bits.
    bits = bits + (is_even & (np.abs(back) < np.abs(values))).astype("<u4")
    bits = bits - (is_even & (np.abs(back) > np.abs(values))).astype("<u4")
    to_even = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return ((bits + to_even) >> np.uint32(16)).astype("<u2")
