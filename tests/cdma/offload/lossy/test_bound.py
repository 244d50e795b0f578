"""Error bounds, also from the deviation of a gradient."""

import json

import pytest

from cdma.errors import UserError
from cdma.golden.lossy.bound import Bound
from cdma.offload.lossy import bound


def test_bounds():
    assert bound.bound_of("abs=0.5") == Bound("abs", 0.5)
    assert bound.bound_of("rel=0.03") == Bound("rel", 0.03)


def test_a_bound_follows_from_the_gradient():
    small, large = (bound.bound_of(f"grad={each}").value for each in (0.001, 0.01))
    assert large == pytest.approx(10 * small)
    assert small * bound.slope() == pytest.approx(0.001)


def test_the_slope_is_that_of_the_small_bounds(tmp_path):
    steps = [("PyTorch", 0), ("lossless", 0), ("rel=0.01", 0.001), ("rel=0.1", 0.02), ("rel=2", 9)]
    rows = [{"storage": name, "gradient_deviation": value} for name, value in steps]
    (tmp_path / "a.json").write_text(json.dumps({"steps": rows}))
    assert bound.slope(tmp_path / "a.json") == pytest.approx(0.15)
    with pytest.raises(UserError, match="cannot read the measured gradients"):
        bound.slope(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grad=x", "must be abs=EB, rel=R or grad=D with a number above 0, not 'grad=x'"),
        ("grad=-1", "not 'grad=-1'"),
        ("grad=nan", "not 'grad=nan'"),
        ("grad=5", "expected at most grad="),
        ("much", "must be abs=EB or rel=R, not 'much'"),
    ],
)
def test_refused(text, message):
    with pytest.raises(UserError, match=message):
        bound.bound_of(text)
