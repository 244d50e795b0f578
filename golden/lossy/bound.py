"""Error bounds: a number, or a share of the standard deviation of the values."""

import math
import re
from dataclasses import dataclass
from numbers import Real

import numpy as np

from cdma.golden.lossy.elements import to_float64

_TEXT = re.compile(r"(abs|rel)=(.+)")


def check_bound(bound) -> float:
    """The largest error, as a float.

    Raises
    ------
    TypeError
        When ``bound`` is not a real number.
    ValueError
        Unless it is finite and positive, and its double is finite.
    """
    if not isinstance(bound, Real) or isinstance(bound, (bool, np.bool_)):
        raise TypeError(f"Error bound must be a number, not {bound!r}")
    bound = float(bound)
    if bound == 0:
        raise ValueError("Error bound must be above 0, not 0: use lossless compression")
    if not math.isfinite(bound) or bound < 0:
        raise ValueError(f"Error bound must be finite and above 0, not {bound!r}")
    if not math.isfinite(2 * bound):
        raise ValueError(f"Error bound must have a finite double, the step, not {bound!r}")
    return bound


@dataclass(frozen=True)
class Bound:
    """An error bound as a user gives it.

    Parameters
    ----------
    kind : str
        ``"abs"``: the bound itself. ``"rel"``: a multiple of the standard deviation of the array's
        finite non-zero values.
    value : float
        Finite and positive.

    Raises
    ------
    TypeError, ValueError
        When the kind is another, or as of :func:`check_bound`.
    """

    kind: str
    value: float

    def __post_init__(self):
        if self.kind not in ("abs", "rel"):
            raise ValueError(f"Error bound must be abs=EB or rel=R, not {self.kind!r}")
        object.__setattr__(self, "value", check_bound(self.value))

    @classmethod
    def parse(cls, text: str) -> "Bound":
        """Read ``abs=EB`` or ``rel=R``; raises ValueError for anything else."""
        match = _TEXT.fullmatch(text.strip())
        try:
            value = float(match[2])
        except (TypeError, ValueError):
            raise ValueError(f"Error bound must be abs=EB or rel=R, not {text!r}") from None
        return cls(match[1], value)

    def __str__(self):
        return f"{self.kind}={self.value!r}"

    def of(self, words: np.ndarray, dtype: str) -> float:
        """Absolute bound for one array.

        Parameters
        ----------
        words : ndarray of little-endian unsigned words
            Bit patterns of its elements.
        dtype : str
            Element type.

        Raises
        ------
        ValueError
            When a relative bound comes to 0 or is too large: the finite non-zero values are all
            equal, or there are none.
        """
        if self.kind == "abs":
            return self.value
        values = to_float64(words, dtype)
        values = values[np.isfinite(values) & (values != 0)]
        deviation = _deviation(values) if values.size else 0.0
        if deviation == 0:
            raise ValueError(
                "Relative error bound must be of values that differ: the finite non-zero values "
                "have a standard deviation of 0; use abs=EB, or lossless compression"
            )
        return check_bound(self.value * deviation)


def _deviation(values: np.ndarray) -> float:
    """Standard deviation, also where squares would overflow or vanish."""
    largest = np.abs(values).max()
    return float(largest * np.std(values / largest))
