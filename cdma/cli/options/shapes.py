"""The shape of a tensor, where no file says it."""

import argparse
import math

#: The shape of an array without dimensions.
SCALAR = "scalar"


def shape_of(text: str) -> tuple[int, ...]:
    """Type of ``--shape``: what a container can have, with 8 bytes an element."""
    if text == SCALAR:
        return ()
    from cdma.golden.container.header import MAX_DIMENSIONS, MAX_SPAN

    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"must be sizes with commas between, not {text!r}")
    if len(shape) > MAX_DIMENSIONS:
        raise argparse.ArgumentTypeError(
            f"must be at most {MAX_DIMENSIONS} sizes, not {len(shape)}"
        )
    if 8 * math.prod(filter(None, shape)) > MAX_SPAN:
        raise argparse.ArgumentTypeError(
            f"must have sizes whose product, without zeros, is below 2**60, not {text!r}"
        )
    return shape
