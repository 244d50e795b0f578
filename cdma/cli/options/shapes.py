"""The shape of a tensor, where no file says it."""

import argparse
import math

#: Dimensions of a shape at most: those of a container.
MOST_DIMENSIONS = 32
#: Elements of a shape at most, zeros not counted: with 8 bytes each, NumPy has no more.
MOST_ELEMENTS = 2**60 - 1


def shape_of(text: str) -> tuple[int, ...]:
    """Type of ``--shape``."""
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"must be sizes with commas between, not {text!r}")
    if len(shape) > MOST_DIMENSIONS:
        raise argparse.ArgumentTypeError(
            f"must be at most {MOST_DIMENSIONS} sizes, not {len(shape)}"
        )
    if math.prod(filter(None, shape)) > MOST_ELEMENTS:
        raise argparse.ArgumentTypeError(
            f"must have sizes whose product, without zeros, is below 2**60, not {text!r}"
        )
    return shape
