"""The plot is drawn from records, and says what is missing."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from cdma.errors import UserError
from cdma.synth.flow import plot
from cdma.synth.flow.figures import asic_figures, ecp5_figures, record

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
    _, svg = plot.draw([{**record, "asic": None} for record in RECORDS], tmp_path)
    text = svg.read_text()
    assert ">LUT4 (smaller is better)</text>" in text
    assert ">area um2 (smaller is better)</text>" not in text


def test_a_figure_that_is_missing_is_said():
    untimed = {"library": "toy", "abc": asic_figures(4, 1e3, 500.0, None, 1.0)}
    text = plot.render([{**RECORDS[0], "asic": untimed}], "svg").decode()
    assert ">critical ns: not measured</text>" in text


def test_areas_stand_against_what_they_may_grow_with():
    text = plot.render(RECORDS, "svg").decode()
    assert text.count(">lanes x log2(lanes)</text>") == 1
    assert ">axispacker 8x32</text>" not in text


def test_areas_may_lie_far_apart():
    figures = ecp5_figures(4, {"lut4": 90_000}, [100.0])
    text = plot.render([*RECORDS, record("compressor", "64x32", 64, 32, figures, None)], "svg")
    assert b">lanes x log2(lanes)</text>" in text


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_bytes_each_time(kind):
    assert plot.render(RECORDS, kind) == plot.render(RECORDS, kind)


def test_peers_stand_beside_their_own_technology_only(tmp_path):
    _, svg = plot.draw(RECORDS, tmp_path)
    assert svg.read_text().count(">axispacker 8x32</text>") == 3  # the panels of ECP5
    nangate = [
        {**record, "asic": {**record["asic"], "library": "NangateOpenCellLibrary"}}
        for record in RECORDS
    ]
    _, svg = plot.draw(nangate, tmp_path)
    assert svg.read_text().count(">axispacker 8x32</text>") == 6


def test_missing_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"^the plot of cdma synth needs matplotlib: pip install"):
        plot.draw(RECORDS, tmp_path)
