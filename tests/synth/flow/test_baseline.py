"""A comparison knows each figure's direction and noise, and says what it could not compare."""

import copy
import json

import pytest

from cdma.errors import UserError
from cdma.synth.flow import baseline
from cdma.synth.flow.columns import every_column
from cdma.synth.flow.figures import asic_figures, ecp5_figures, record

CELLS = {
    "lut4": 2000,
    "flip_flops": 1000,
    "carries": 0,
    "lut_rams": 0,
    "block_rams": 0,
    "multipliers": 0,
}
TOOLS = {"Yosys": "0.70"}
WHOLE = record(
    *("compressor", "8x32", 8, 32),
    ecp5_figures(32, CELLS, [200.0, 240.0, 260.0]),
    {
        "library": "toy",
        "abc": asic_figures(32, 8000.0, 5000.0, 0.5, 0.8),
        "tuned": asic_figures(32, 9000.0, 5000.0, 0.4, 0.8),
    },
    latency_cycles=12,
)
BEFORE = {"tools": TOOLS, "records": [WHOLE]}


def changed(path: str, factor: float) -> dict:
    """The record with one figure multiplied."""
    copied = copy.deepcopy(WHOLE)
    *groups, key = path.split(".")
    place = copied
    for group in groups:
        place = place[group]
    place[key] *= factor
    return copied


def verdicts(now: dict, before: dict = BEFORE) -> dict[str, str]:
    """What is not the same, by path."""
    changes = baseline.compare(before, [now], TOOLS).changes
    return {change.path: change.verdict for change in changes if change.verdict != "same"}


def test_the_same_report_is_the_same():
    found = baseline.compare(BEFORE, [copy.deepcopy(WHOLE)], TOOLS)
    columns = [column for _, column in every_column() if column.tolerance is not None]
    compared = [column.path for column in columns if column.value(WHOLE) is not None]
    assert len(compared) > 10
    assert [change.path for change in found.changes] == compared
    assert {"latency_cycles", "ecp5.lut4", "ecp5.fmax_mhz", "asic.abc.critical_ns"} <= set(compared)
    assert {change.verdict for change in found.changes} == {"same"}
    assert found.gaps == []
    assert not found.is_worse


@pytest.mark.parametrize(
    ("path", "tolerance", "bigger"),
    [
        ("latency_cycles", 0.0, "worse"),
        ("ecp5.lut4", 0.01, "worse"),
        ("ecp5.flip_flops", 0.01, "worse"),
        ("ecp5.fmax_mhz", 0.05, "better"),
        ("asic.abc.area_um2", 0.01, "worse"),
        ("asic.tuned.critical_ns", 0.02, "worse"),
        ("asic.abc.gb_per_s_per_mm2", 0.03, "better"),
    ],
)
def test_direction_and_tolerance(path, tolerance, bigger):
    smaller = {"better": "worse", "worse": "better"}[bigger]
    assert verdicts(changed(path, 1.01 + tolerance)) == {path: bigger}
    assert verdicts(changed(path, 0.99 - tolerance)) == {path: smaller}
    if tolerance:
        assert verdicts(changed(path, 1 + 0.9 * tolerance)) == {}
        assert verdicts(changed(path, 1 - 0.9 * tolerance)) == {}


def test_from_nothing_to_something():
    now = copy.deepcopy(WHOLE)
    now["ecp5"]["block_rams"] = 2
    found = baseline.compare(BEFORE, [now], TOOLS)
    assert found.is_worse
    (change,) = [change for change in found.changes if change.verdict == "worse"]
    assert (change.before, change.now, change.percent) == (0, 2, None)
    assert "from 0" in found.text()


def test_text_shows_worse_before_better_and_the_spread_of_clocks():
    now = changed("asic.abc.area_um2", 0.5)
    now["ecp5"] = ecp5_figures(32, CELLS, [180.0, 192.0, 210.0])
    lines = baseline.compare(BEFORE, [now], TOOLS).text().splitlines()
    assert lines[0] == "1 worse"
    assert "240 [200..260]" in lines[3]
    assert "192 [180..210]" in lines[3]
    assert "-20.0 %" in lines[3]
    assert "5 %" in lines[3]
    assert "ECP5: Fmax MHz (+)" in lines[3]
    assert lines[5] == "1 better"
    assert "-50.0 %" in lines[8]
    assert lines[-1].endswith(" the same, within their tolerance")


def test_what_is_missing_is_said():
    other = {**WHOLE, "unit": "decompressor"}
    fresh = {**WHOLE, "config": "16x16"}
    now = {**WHOLE, "ecp5": None}
    before = {"tools": {"Yosys": "0.69"}, "records": [WHOLE, other]}
    found = baseline.compare(before, [now, fresh], TOOLS)
    assert "compressor 8x32: ECP5: LUT4: in the baseline only" in found.gaps
    assert "compressor 16x16: not in the baseline" in found.gaps
    assert "decompressor 8x32: in the baseline only" in found.gaps
    assert "Yosys 0.69 in the baseline, 0.70 now" in found.gaps
    assert found.text().endswith("\n".join(found.gaps) + "\n")


def test_fewer_seeds_are_said():
    now = {**WHOLE, "ecp5": ecp5_figures(32, CELLS, [240.0])}
    gaps = baseline.compare(BEFORE, [now], TOOLS).gaps
    assert gaps == ["clocks of 3 seeds in the baseline, of 1 now"]


def test_another_library_is_not_compared():
    now = {**WHOLE, "asic": {**WHOLE["asic"], "library": "other"}}
    found = baseline.compare(BEFORE, [now], TOOLS)
    assert found.gaps == ["compressor 8x32: cells of toy in the baseline, of other now"]
    assert not any(change.path.startswith("asic") for change in found.changes)


def test_nothing_in_common_is_a_mistake():
    with pytest.raises(UserError, match=r"^nothing to compare with the baseline \(compressor 2x8"):
        baseline.compare(BEFORE, [{**WHOLE, "config": "2x8"}], TOOLS)


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "baseline.json"
    baseline.save(path, [WHOLE], TOOLS)
    assert baseline.load(path) == {"tools": TOOLS, "records": [WHOLE]}


def test_figures_of_ecp5_stay_where_it_was_left_out(tmp_path):
    path = tmp_path / "baseline.json"
    other = {**WHOLE, "config": "2x8"}
    baseline.save(path, [WHOLE, other], {**TOOLS, "nextpnr": "0.9"})
    now = {**changed("asic.abc.critical_ns", 2), "ecp5": None}
    baseline.save(path, [now], {"Yosys": "0.71"}, keeps_ecp5=True)
    whole = baseline.load(path)
    assert whole["records"] == [{**now, "ecp5": WHOLE["ecp5"]}, {**other, "asic": None}]
    assert whole["tools"] == {"Yosys": "0.71", "nextpnr": "0.9"}
    baseline.save(path, [now], TOOLS)
    assert baseline.load(path)["records"] == [now]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", r"not a report of cdma synth \(Expecting"),
        ("[]", r"not a report of cdma synth \(no records\)$"),
        (json.dumps({"records": [{"unit": "a"}]}), r"not a report of cdma synth \(no records\)$"),
        (None, r"cannot read this baseline \(No such file or directory\)$"),
    ],
)
def test_no_baseline(tmp_path, text, complaint):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=rf"^{path}: {complaint}"):
        baseline.load(path)
