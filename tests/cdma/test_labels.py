"""Names of the user in figures."""

import io
import os

import pytest

from cdma.labels import plain

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("relu1", "relu1"),
        ("re$\\frac$lu", "re$\\frac$lu"),
        ("cost $5, \\$6$", "cost $5, \\$6$"),
        (os.fsdecode(b"bad\xff"), "bad\\udcff"),
    ],
)
def test_a_name_is_shown_as_it_is(name, shown):
    from matplotlib.figure import Figure

    figure, picture = Figure(), io.StringIO()
    figure.suptitle(plain(name))
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(picture, format="svg")
    assert f">{shown}</text>" in picture.getvalue()
