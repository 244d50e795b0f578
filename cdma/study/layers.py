"""Position of a record's layer in its network, and its axes."""

from cdma.study.layouts import FLAT, LAYOUTS


def axis(record: dict, name: str) -> int:
    """Length of the axis ``name`` (N, C, H or W) of a record's tensor, 1 where it has none."""
    axes = record["axes"]
    return record["shape"][axes.index(name)] if name in axes and axes != FLAT else 1


def depth(record: dict) -> tuple:
    """Sorts the layers of a convolutional network by depth: maps shrink, then as they are listed.

    A list of tensors may be in another order, or be split over files.
    """
    return -axis(record, "H") * axis(record, "W"), record["position"]


def has_all_axes(record: dict) -> bool:
    """Whether the three layouts are three orders: images, channels and places are all several."""
    sizes = axis(record, "N"), axis(record, "C"), axis(record, "H") * axis(record, "W")
    return sorted(record["axes"]) == sorted(LAYOUTS[0]) and min(sizes) > 1
