"""Axes from a list or by default, and views in another order."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.study.layouts import LAYOUTS, arranged, axes_of, layouts_of


@pytest.mark.parametrize(
    ("shape", "given", "axes"),
    [
        ((2, 3, 4, 5), None, "NCHW"),
        ((2, 3, 4, 5), "NHWC", "NHWC"),
        ((2, 3), None, "NC"),
        ((3, 2), "CN", "CN"),
        ((7,), None, "flat"),
        ((2, 3, 4), None, "flat"),
        ((1024,), "NCHW flat slice", "flat"),
        ((2, 3, 4, 5), "flat", "flat"),
    ],
)
def test_axes(shape, given, axes):
    assert axes_of(shape, given) == axes


def test_refuses_axes_that_do_not_fit():
    with pytest.raises(UserError, match=r"^layout NHWC has 4 axes, the tensor 3$"):
        axes_of((1, 2, 3), "NHWC")


def test_layouts_to_compare():
    assert layouts_of("CHWN") == LAYOUTS
    assert layouts_of("NC") == ("NC",)
    assert layouts_of("flat") == ("flat",)


def test_every_layout_holds_the_same_element_at_the_same_axes():
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    stored = arranged(array, "NCHW", "NHWC").copy()
    assert stored.shape == (2, 4, 5, 3)
    assert stored[1, 2, 3, 0] == array[1, 0, 2, 3]
    np.testing.assert_array_equal(arranged(stored, "NHWC", "NCHW"), array)
    np.testing.assert_array_equal(arranged(stored, "NHWC", "CHWN")[2, 3, 4, 1], array[1, 2, 3, 4])
    assert arranged(stored, "NHWC", "NHWC") is stored
