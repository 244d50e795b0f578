"""Types of options, and what else a value is checked for."""

import argparse
import math
from collections.abc import Callable

from cdma.errors import UserError


def above_zero(text: str) -> float:
    """Type of an option: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def natural(text: str) -> int:
    """Type of an option: an integer, zero or more."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be an integer, zero or more, not {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Type of an option: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return int(text)


def size(text: str) -> int:
    """Type of an option: bytes, 1 or more, such as 500M."""
    units = {"K": 10, "M": 20, "G": 30}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "")
    try:
        bytes_ = natural(number) << units.get(unit, 0)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"must be bytes such as 500M, not {text!r}") from None
    if not bytes_:
        raise argparse.ArgumentTypeError("must be a byte or more")
    return bytes_


def rising(text: str) -> tuple[int, ...]:
    """Type of an option: integers with commas between, zero or more, each above the last."""
    numbers = tuple(map(natural, text.split(",")))
    if list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"must rise, not {text!r}")
    return numbers


def refuse_below(args: argparse.Namespace, **least: int) -> None:
    """Refuse an option that is below its least value; ``None``, not given, is none."""
    for name, limit in least.items():
        value = getattr(args, name)
        if value is not None and value < limit:
            raise UserError(f"--{name} must be {limit} or more, not {value}")


def flag(option: str) -> str:
    """``--word-bits`` of ``word_bits``."""
    return f"--{option.replace('_', '-')}"


def several(type_: Callable) -> Callable:
    """Type of an option: values of a type, with commas between."""

    def parse(text: str) -> list:
        return [type_(part) for part in text.split(",")]

    return parse
