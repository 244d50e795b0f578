"""Arrays and byte strings seen as the words of a format."""

import numpy as np

from cdma.format import WORD_BITS, Format
from cdma.golden.zvc.fold import check_fold
from cdma.integers import integer

# bool, integers, unsigned integers, floating point, complex
_NUMERIC_KINDS = "biufc"


def check_format(fmt: Format) -> None:
    """Raise TypeError unless ``fmt`` is a Format."""
    if not isinstance(fmt, Format):
        raise TypeError(f"Format must be a Format, not {fmt!r}")


def format_for(dtype: np.dtype, fmt: Format | None = None) -> Format:
    """Format that elements of ``dtype`` are stored in: ``fmt``, or the default of their size.

    Raises
    ------
    TypeError
        When ``dtype`` is not numeric (objects, records, strings, raw bytes), or not floating point
        where ``fmt`` folds ``-0.0``.
    ValueError
        When an element is not 1, 2, 4 or 8 bytes, or not a word of ``fmt``.
    """
    fmt = _format_of_size(dtype, fmt)
    check_fold(dtype, fmt)
    return fmt


def _format_of_size(dtype: np.dtype, fmt: Format | None) -> Format:
    # bfloat16 and its like are kind "V", but unlike raw bytes and records they have their own type.
    is_custom_number = dtype.kind == "V" and dtype.type is not np.void
    if dtype.kind not in _NUMERIC_KINDS and not is_custom_number:
        raise TypeError(f"Element type must be numeric, not {str(dtype)!r}")
    if dtype.itemsize * 8 not in WORD_BITS:
        raise ValueError(
            f"Element size must be 1, 2, 4 or 8 bytes, not {dtype.itemsize} ({str(dtype)!r})"
        )
    if fmt is None:
        return Format(dtype.itemsize * 8)
    check_format(fmt)
    if dtype.itemsize != fmt.word_bytes:
        raise ValueError(
            f"Element size must be {fmt.word_bytes} bytes to be a word of {fmt.word_bits} bits, "
            f"not {dtype.itemsize} ({str(dtype)!r})"
        )
    return fmt


def words_of(array, fmt: Format) -> np.ndarray:
    """Words of an array of any shape; raises as ``format_for``.

    Unsigned numbers are words: the caller answers for their type.
    """
    array = np.asarray(array)
    if array.dtype.kind == "u":
        _format_of_size(array.dtype, fmt)
    else:
        format_for(array.dtype, fmt)
    return to_words(array)


def to_words(array: np.ndarray) -> np.ndarray:
    """Bit patterns of a numeric array in C order.

    Parameters
    ----------
    array : ndarray
        Any shape, memory order and byte order, of a type that ``format_for`` accepts.

    Returns
    -------
    ndarray of little-endian unsigned words, shape (array.size,)
        A view where the layout allows it, else a copy.
    """
    dtype = array.dtype
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.kind == "V":  # has no other byte order than the machine's
        native = flat.view(f"=u{dtype.itemsize}")
        return native.astype(f"<u{dtype.itemsize}", copy=False)
    return flat.astype(dtype.newbyteorder("<"), copy=False).view(f"<u{dtype.itemsize}")


def to_bytes(stream) -> np.ndarray:
    """A bytes-like object or uint8 array as an array of bytes, shape (bytes,), without a copy.

    Raises
    ------
    TypeError, ValueError
        When ``stream`` is neither, or has more than one dimension.
    """
    if not isinstance(stream, np.ndarray):
        try:
            stream = np.frombuffer(memoryview(stream), np.uint8)
        except TypeError:
            raise TypeError(
                f"Stream must be bytes or an array of uint8, not {type(stream).__name__}"
            ) from None
    if stream.dtype != np.uint8:
        raise TypeError(f"Stream must be bytes or an array of uint8, not of {str(stream.dtype)!r}")
    if stream.ndim != 1:
        raise ValueError(f"Stream must have one dimension, not shape {stream.shape!r}")
    return stream


def whole_words(data: np.ndarray, fmt: Format) -> np.ndarray:
    """The whole words at the front of ``data``, aligned and contiguous; shape (bytes // size,)."""
    whole = data[: len(data) // fmt.word_bytes * fmt.word_bytes]
    return np.require(np.ascontiguousarray(whole).view(fmt.dtype), requirements="A")


def check_count(count: int) -> int:
    """``count`` as an int; TypeError unless it is an integer, ValueError when it is negative."""
    number = integer("Word count", count)
    if number < 0:
        raise ValueError(f"Word count must be zero or more, not {count!r}")
    return number
