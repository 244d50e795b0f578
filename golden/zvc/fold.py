"""Which elements ``fold_negative_zero`` is for: those of which it loses the sign of zeros only."""

import numpy as np

from cdma.format import StreamFormat

#: Floating-point types with ``-0.0`` whose elements can be bare words.
_BARE = ("bfloat16", "bf16", "float8_e4m3fn", "float8_e5m2")


def has_negative_zero(dtype: np.dtype) -> bool:
    """Whether the word of which only the highest bit is set is a zero of this type.

    It is ``-0.0`` of floating-point types, a number of integers, NaN of some 8-bit floats.
    """
    return bool(_folded(dtype) == 0)


def check_fold(dtype: np.dtype, fmt: StreamFormat, name: str | None = None) -> None:
    """Refuse a format that folds ``-0.0`` for elements without it.

    Parameters
    ----------
    dtype : dtype
        Type of the array. The metadata ``stored_as`` names that of bare words.
    fmt : StreamFormat
        Format of any codec.
    name : str or None
        Type that the caller says the elements have: without ``ml_dtypes``, elements of bfloat16 are
        bare words.

    Raises
    ------
    TypeError
        When ``fmt`` folds ``-0.0``, and folding would change other values of ``dtype`` than zeros.
    """
    if not getattr(fmt, "fold_negative_zero", False):
        return
    if (name or (dtype.metadata or {}).get("stored_as")) in _BARE or has_negative_zero(dtype):
        return
    lost = "" if dtype.kind == "b" else f", of which {_folded(dtype)} would become 0"
    bare = "; name the type of bare words (--dtype, or a view)" if dtype.kind == "u" else ""
    raise TypeError(
        f"Elements must be floating point to fold -0.0 into 0.0, not {dtype.name}{lost}{bare}"
    )


def _folded(dtype: np.dtype):
    """The element that folding turns into 0."""
    word = np.array([1 << 8 * dtype.itemsize - 1], f"=u{dtype.itemsize}")
    return word.view(dtype.newbyteorder("=") if dtype.kind != "V" else dtype)[0]
