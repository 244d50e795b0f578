import pytest

from cdma.tensors.rows import format_for, row_distance
from cdma.zvcplus import Format


@pytest.mark.parametrize(
    ("shape", "layout", "distance"),
    [
        ((1, 64, 56, 48), "NCHW", 48),
        ((1, 28, 28, 128), "NHWC", 128),
        ((832, 7, 9, 3), "CHWN", 27),
        ((4, 5), None, 5),
        ((16,), None, None),
        ((7, 3), "CHWN", None),
        ((4, 0), None, None),
        ((2, 5000), None, None),
    ],
)
def test_distance_of_a_row(shape, layout, distance):
    assert row_distance(shape, layout) == distance


def test_without_a_distance_words_repeat_to_the_left():
    assert format_for("fp32", "above", 1024) == Format("fp32", "above", 1024)
    assert format_for("fp32", "above", 1025) == Format("fp32", "left")
    assert format_for("int8", "above", 4096) == Format("int8", "above", 4096)
    assert format_for("int8", "above", None) == Format("int8", "left")
    assert format_for("bf16", "none", 8) == Format("bf16")
