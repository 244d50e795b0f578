"""Every column has a direction, every figure a place, and what is missing shows as such."""

import json

import pytest

from cdma.synth.flow import asic, columns, report
from cdma.synth.flow.figures import asic_figures, ecp5_figures, record

CELLS = {
    "lut4": 2345,
    "flip_flops": 600,
    "carries": 4,
    "lut_rams": 64,
    "block_rams": 0,
    "multipliers": 0,
}
LATTICE = ecp5_figures(32, CELLS, [200.0, 240.0, 260.0])
SILICON = {
    "library": "toy",
    "abc": asic_figures(32, 7980.0, 5000.0, 0.5, 0.798),
    "tuned": asic_figures(32, 9000.0, 5000.0, 0.4, 0.798),
}
WHOLE = record("compressor", "8x32", 8, 32, LATTICE, SILICON)


def test_every_column_has_a_direction():
    assert {column.better for _, column in columns.every_column()} == {"smaller", "bigger"}
    for title, table in report.tables([WHOLE]):
        for heading in table.splitlines()[0].split("  "):
            if heading.strip() not in ("", "unit", "config"):
                assert heading.strip().endswith(("(-)", "(+)")), f"{title}: {heading}"


@pytest.mark.parametrize("title", ["Fmax MHz", "GB/s", "GB/s per kLUT", "bytes/cycle"])
def test_speed_is_better_bigger(title):
    assert f"{title} (+)" in report.text([WHOLE], [])


@pytest.mark.parametrize("title", ["LUT4", "FF", "area um2", "kGE", "critical ns"])
def test_size_and_delay_are_better_smaller(title):
    assert f"{title} (-)" in report.text([WHOLE], [])


def test_every_script_has_a_table_of_its_own():
    titles = [title for title, _ in report.tables([WHOLE])]
    assert len(titles) == 1 + len(asic.FLOWS)
    assert list(columns.FLOW_TITLES) == list(asic.FLOWS)
    own, tuned = (table for _, table in report.tables([WHOLE])[1:])
    assert "7,980" in own
    assert "7,980" not in tuned


def test_text_shows_median_and_spread_and_notes():
    text = report.text([WHOLE], ["no liberty given"])
    assert "240 [200..260]" in text
    assert "2,345" in text
    assert "(-) smaller is better, (+) bigger is better\nno liberty given\n" in text


def test_one_seed_has_no_spread():
    alone = record("compressor", "8x32", 8, 32, ecp5_figures(32, CELLS, [200.0]), None)
    assert "[" not in report.text([alone], []).splitlines()[3]


def test_without_cells_there_is_no_table_of_cells():
    titles = [title for title, _ in report.tables([record("c", "8x32", 8, 32, LATTICE, None)])]
    assert titles == ["ECP5 LFE5UM5G-85F speed 8, Fmax as median [min..max] of 3 seeds"]


def test_json_explains_every_figure():
    whole = json.loads(report.as_json([WHOLE], ["a note"], {"Yosys": "0.70"}))
    assert whole["records"] == [WHOLE]
    assert whole["columns"]["ecp5.lut4"] == {"title": "LUT4", "better": "smaller"}
    assert whole["columns"]["asic.tuned.gb_per_s"]["better"] == "bigger"
    assert whole["tools"] == {"Yosys": "0.70"}
    assert whole["notes"] == ["a note"]
    assert {"unit", "source", "does", "ecp5", "asic"} <= set(whole["peers"][0])


def test_markdown_has_units_and_peers():
    text = report.markdown([WHOLE], ["a note"], {"Yosys": "0.70"})
    assert "| compressor | 8x32   |" in text
    assert "NVDLA weight decompressor" in text
    assert "- Yosys 0.70\n- a note\n" in text
