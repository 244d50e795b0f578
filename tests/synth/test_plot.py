"""The plot is drawn from records, and says what is missing."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from cdma.errors import UserError
from cdma.synth import plot
from cdma.synth.figures import asic_figures, ecp5_figures, record

RECORDS = [
    record(
        "compressor",
        f"{lanes}x32",
        lanes,
        32,
        ecp5_figures(4 * lanes, {"lut4": 200 * lanes}, [300.0 - lanes]),
        {"library": "toy", "abc": asic_figures(4 * lanes, 1e3 * lanes, 500.0, 0.5, 1.0)},
    )
    for lanes in (4, 8, 16)
]


def test_png_and_svg_are_written(tmp_path):
    png, svg = plot.draw(RECORDS, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert sorted(tmp_path.iterdir()) == [png, svg]


def test_a_panel_needs_figures(tmp_path):
    bare = [{**record, "asic": None} for record in RECORDS]
    full, half = (plot.draw(records, tmp_path)[0].read_bytes() for records in (RECORDS, bare))
    height = [int.from_bytes(image[20:24], "big") for image in (full, half)]
    assert height[0] == pytest.approx(2 * height[1], abs=2)


def test_missing_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"^the plot of cdma synth needs matplotlib: pip install"):
        plot.draw(RECORDS, tmp_path)
