"""Error bounds of activations, also by the deviation of the gradient that they cause."""

import json
import math
from pathlib import Path

from cdma.errors import UserError, reason_of
from cdma.golden.lossy.bound import Bound
from cdma.offload import records

#: Largest relative bound whose errors still are independent and uniform.
_LINEAR = 0.1


def bound_of(text: str) -> Bound:
    """Bound of a text: ``abs=EB``, ``rel=R``, or ``grad=D`` for a deviation of the gradient.

    Raises
    ------
    UserError
        When the text is none of these, or the measurements of a gradient are missing.
    """
    kind, _, value = text.partition("=")
    try:
        if kind != "grad":
            return Bound.parse(text)
        deviation = float(value)
    except ValueError as error:
        raise UserError(f"{error}" if kind != "grad" else _refusal(text)) from None
    if not (math.isfinite(deviation) and deviation > 0):
        raise UserError(_refusal(text))
    bound = deviation / slope()
    if bound > _LINEAR:
        most = _LINEAR * slope()
        raise UserError(f"{text}: expected at most grad={most:.3g}, a bound of rel={_LINEAR:g}")
    return Bound("rel", bound)


def slope(path: Path = records.TORCH) -> float:
    """Deviation of the gradient over the relative bound, on a measured training step.

    The variance of the gradient grows with the square of the bound (COMET), so the deviation is in
    proportion to it as long as errors are independent and uniform.
    """
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
        bounds = {row["storage"]: row["gradient_deviation"] for row in steps}
        found = [
            deviation / float(name.removeprefix("rel="))
            for name, deviation in bounds.items()
            if name.startswith("rel=") and float(name.removeprefix("rel=")) <= _LINEAR
        ]
        return sum(found) / len(found)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise UserError(
            f"{path}: cannot read the measured gradients ({reason_of(error)})"
        ) from None


def _refusal(text: str) -> str:
    return f"Error bound must be abs=EB, rel=R or grad=D with a number above 0, not {text!r}"
