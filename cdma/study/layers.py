"""Position of a record's layer in its network, and its axes."""

from cdma.study.layouts import FLAT, LAYOUTS


def axis(record: dict, name: str) -> int:
    """Length of the axis ``name`` (N, C, H or W) of a record's tensor, 1 without this axis."""
    axes = record["axes"]
    return record["shape"][axes.index(name)] if name in axes and axes != FLAT else 1


def depth(record: dict) -> tuple:
    """Sort key for the layers of a convolutional network by depth: largest maps first, then by
    position in the list.

    A list of tensors may have another order, or be split into files.
    """
    return -axis(record, "H") * axis(record, "W"), record["position"]


def has_all_axes(record: dict) -> bool:
    """Whether the three layouts differ: several images, channels and places."""
    sizes = axis(record, "N"), axis(record, "C"), axis(record, "H") * axis(record, "W")
    return sorted(record["axes"]) == sorted(LAYOUTS[0]) and min(sizes) > 1
