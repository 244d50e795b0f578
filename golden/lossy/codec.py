"""Quantisation of floating-point arrays with a guaranteed error (``docs/format.md``).

The decoder is ``dtype(float64(q) * step)`` with one rounding. The encoder runs this decoder on
every element. What is not within the bound then, or is no finite number, is stored as it is. Works
in batches: beyond input and output, memory is constant.
"""

from dataclasses import dataclass

import numpy as np

from cdma.golden.container.elements import numpy_dtype
from cdma.golden.lossy.bound import Bound, check_bound
from cdma.golden.lossy.elements import ELEMENTS, from_float64, to_float64
from cdma.golden.lossy.size import Q_BITS, stored_bytes
from cdma.golden.zvc.words import to_words

# Elements at a time: their float64 temporaries fit the cache.
_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class Quantised:
    """An array as multiples of a step, and outliers.

    Attributes
    ----------
    dtype : str
        Element type of the array, one of ``ELEMENTS``.
    shape : tuple of int
        Shape of the array.
    step : float
        Twice the error bound; finite and positive.
    q : ndarray of int8, int16 or int32, little-endian, shape (elements,)
        Multiples of the step, in C order; 0 at outliers.
    outliers : ndarray of int64, shape (outliers,)
        Places of the outliers, ascending.
    outlier_words : ndarray of little-endian unsigned words, shape (outliers,)
        Bit patterns of the outliers.
    """

    dtype: str
    shape: tuple[int, ...]
    step: float
    q: np.ndarray
    outliers: np.ndarray
    outlier_words: np.ndarray

    @property
    def bound(self) -> float:
        """Largest error."""
        return self.step / 2

    @property
    def stored_bytes(self) -> int:
        """Bytes of the streams of ``q`` and of the outliers, without the header of a file."""
        return stored_bytes(self.q, len(self.outliers), ELEMENTS[self.dtype])


def quantise(array, bound: float | Bound, q_bits: int | None = None) -> Quantised:
    """Quantise an array, so that no element changes by more than the bound.

    For every element ``x`` and what :func:`dequantise` returns for it, ``x'``: ``float64(|x - x'|)
    <= bound``, or both have the same bits. NaNs, their payloads, and infinities are kept. Zeros
    stay zeros; ``-0`` becomes ``+0``.

    Parameters
    ----------
    array : array_like of float16, bfloat16, float32 or float64
        Any shape, memory order and byte order.
    bound : float or Bound
        Largest error; above 0, and at most half of the largest float64.
    q_bits : int or None
        Bits of ``q``: 8, 16 or 32; ``None`` takes those of the smallest file.

    Returns
    -------
    Quantised

    Raises
    ------
    TypeError
        When the elements are of another type, or the bound is no number.
    ValueError
        When the bound or ``q_bits`` is out of range.
    """
    array = np.asarray(array)
    dtype = check_elements(array.dtype.name)
    return quantise_words(to_words(array), dtype, array.shape, bound, q_bits)


def quantise_words(
    words: np.ndarray,
    dtype: str,
    shape: tuple[int, ...],
    bound: float | Bound,
    q_bits: int | None = None,
) -> Quantised:
    """As :func:`quantise`, of bit patterns: for bfloat16 without the package ``ml_dtypes``.

    Parameters
    ----------
    words : ndarray of little-endian unsigned words, shape (elements,)
    dtype : str
        Element type.
    shape : tuple of int
    bound, q_bits
        As of :func:`quantise`.
    """
    check_elements(dtype)
    if q_bits not in (None, *Q_BITS):
        raise ValueError(f"Quantised numbers must have 8, 16 or 32 bits, not {q_bits!r}")
    bound = bound.of(words, dtype) if isinstance(bound, Bound) else check_bound(bound)
    step = 2 * bound
    q = np.empty(len(words), "<i4")
    is_outlier = np.empty(len(words), bool)
    for first in range(0, len(words), _BATCH):
        part = slice(first, first + _BATCH)
        q[part], is_outlier[part] = _encode(words[part], dtype, bound, step)
    if q_bits is None:
        q_bits = min(Q_BITS, key=lambda bits: _size(q, is_outlier, bits, ELEMENTS[dtype]))
    is_outlier |= ~_fits(q, q_bits)
    outliers = np.flatnonzero(is_outlier)
    q[outliers] = 0
    return Quantised(
        dtype, tuple(shape), step, q.astype(f"<i{q_bits // 8}"), outliers, words[outliers]
    )


def dequantise(quantised: Quantised) -> np.ndarray:
    """The array that :func:`quantise` approximates.

    Returns
    -------
    ndarray
        Shape and type of the array, C order, little-endian. bfloat16 needs ``ml_dtypes``; without
        it the bit patterns are given as uint16.
    """
    words = dequantise_words(quantised)
    return words.view(numpy_dtype(quantised.dtype)).reshape(quantised.shape)


def dequantise_words(quantised: Quantised) -> np.ndarray:
    """As :func:`dequantise`: little-endian bit patterns, shape (elements,)."""
    q, dtype = quantised.q, quantised.dtype
    words = np.empty(len(q), f"<u{ELEMENTS[dtype]}")
    for first in range(0, len(q), _BATCH):
        part = slice(first, first + _BATCH)
        words[part] = _decode(q[part], dtype, quantised.step)
    words[quantised.outliers] = quantised.outlier_words
    return words


def check_elements(dtype: str) -> str:
    """The name of an element type that the codec takes; raises TypeError for others."""
    if dtype not in ELEMENTS:
        raise TypeError(f"Element type must be one of {', '.join(ELEMENTS)}, not {dtype!r}")
    return dtype


def _encode(words, dtype, bound, step) -> tuple[np.ndarray, np.ndarray]:
    """Multiples of the step as int32, and which elements are outliers for all widths of ``q``."""
    with np.errstate(all="ignore"):
        values = to_float64(words, dtype)
        rounded = np.rint(values / step)
        in_range = np.abs(rounded) < 2.0**31  # False for NaN
        q = np.where(in_range, rounded, 0).astype("<i4")
        decoded = to_float64(_decode(q, dtype, step), dtype)
        good = in_range & np.isfinite(decoded) & (np.abs(values - decoded) <= bound)
    return np.where(good, q, np.int32(0)), ~good


def _decode(q: np.ndarray, dtype: str, step: float) -> np.ndarray:
    """Bit patterns of ``q`` times the step: the definition of the decoder."""
    with np.errstate(over="ignore", under="ignore"):
        return from_float64(q.astype(np.float64) * step, dtype)


def _fits(q: np.ndarray, bits: int) -> np.ndarray:
    limits = np.iinfo(f"i{bits // 8}")
    return (q >= limits.min) & (q <= limits.max)


def _size(q: np.ndarray, is_outlier: np.ndarray, bits: int, item_bytes: int) -> int:
    fits = _fits(q, bits)
    kept = np.where(fits, q, 0).astype(f"<i{bits // 8}")
    outliers = np.count_nonzero(is_outlier | ~fits)
    return stored_bytes(kept, outliers, item_bytes)
