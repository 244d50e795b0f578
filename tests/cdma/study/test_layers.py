"""Axes and depth of a record's layer."""

import pytest

from cdma.study.layers import axis, depth, has_all_axes


def record(axes, *shape, position=0):
    return {"axes": axes, "shape": list(shape), "position": position}


def test_axis():
    assert axis(record("NHWC", 2, 3, 4, 5), "C") == 5
    assert axis(record("NC", 2, 3), "H") == 1
    assert axis(record("flat", 7), "N") == 1


def test_depth_goes_by_map_and_then_as_listed():
    layers = [
        record("NC", 1, 10, position=0),
        record("NCHW", 1, 8, 4, 4, position=4),
        record("NCHW", 1, 8, 8, 8, position=3),
        record("NHWC", 1, 8, 8, 9, position=2),
        record("NCHW", 1, 3, 16, 16, position=9),
    ]
    assert [layer["position"] for layer in sorted(layers, key=depth)] == [9, 2, 3, 4, 0]


@pytest.mark.parametrize(
    ("layer", "differ"),
    [
        (record("NCHW", 2, 3, 4, 5), True),
        (record("CHWN", 2, 1, 4, 5), True),
        (record("NCHW", 1, 3, 4, 5), False),
        (record("NCHW", 2, 1, 4, 5), False),
        (record("NCHW", 2, 3, 1, 1), False),
        (record("NC", 2, 3), False),
        (record("flat", 9), False),
    ],
)
def test_whether_layouts_can_differ(layer, differ):
    assert has_all_axes(layer) is differ
