"""Code coverage: every item that is not reached has an explanation, and no reached item has."""

import re

import numpy as np
import pytest

from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario
from cdma.verify.coverage.code import (
    EXPLAINED,
    KINDS,
    CodeCoverage,
    condense,
    expand,
    explanations,
    measure_code,
    read_counts,
)
from cdma.verify.coverage.scenarios import scenarios

UNIT = pytest.mark.parametrize("unit", ["compressor", "decompressor"])
SMALL = Config.of(2, 8, 32)


@pytest.mark.slow
@UNIT
def test_all_is_reached_or_explained(unit):
    found = measure_code(unit, EXPLAINED, scenarios(unit, EXPLAINED))
    assert [condense(found.unexplained(kind)) for kind in KINDS] == [[], [], []]
    assert condense(found.wrongly_explained) == []
    assert found.is_complete
    assert sum(found.hits["toggle"].values()) > 1_000_000
    assert min(len(found.hits[kind]) for kind in KINDS) > 50


@pytest.mark.slow
def test_what_a_packet_reaches():
    words = np.array([1, 0, 3, 0], "u1")
    found = measure_code("compressor", SMALL, [Scenario([words])])
    assert found.explained == {}
    toggles = found.hits["toggle"]
    # A word of 1 and one of 3 in lane 0, and nothing in lane 1.
    assert toggles["s_axis_tdata[0] 0->1"] == toggles["s_axis_tdata[1] 0->1"] == 1
    assert toggles["s_axis_tdata[8] 0->1"] == 0
    assert "s_axis_tdata[8] 0->1" in found.unexplained("toggle")
    assert not any(re.search(r"(^|\.)\$|__0", item) for item in toggles)
    assert found.hits["line"].total() > 100
    assert not found.is_complete


def test_counts_are_read(tmp_path):
    choice = r"  assign \$12  = \$procmux$7_Y  ? level[1] : \at$3 ;"
    lines = ["", choice, "  always @(posedge aclk)"]
    points = [
        ("2", "toggle", "i___05Fpayload__0249[3]:0->1", "core.output", 4),
        ("2", "toggle", "__02412:0->1", "core", 1),
        ("2", "toggle", "aclk:1->0", "", 7),
        ("2", "branch", "cond_then", "core.output", 0),
        ("2", "branch", "cond_then", "core.output", 5),
        ("3", "line", "block", "core", 2),
    ]
    text = "# SystemC::Coverage-3\n"
    for line, kind, name, place, count in points:
        fields = {"l": line, "page": f"v_{kind}/cdma_x", "o": name}
        fields["h"] = f"TOP.cdma_x.{place}".rstrip(".")
        key = "".join(f"\1{name}\2{value}" for name, value in fields.items())
        text += f"C '{key}' {count}\n"
    (tmp_path / "counts").write_text(text)
    branch = "core.output: $ = $procmux$_Y ? level[1] : at$ (then)"
    assert list(read_counts(tmp_path / "counts", lines)) == [
        ("toggle", "core.output.i__payload$9[3] 0->1", 4),
        ("toggle", "aclk 1->0", 7),
        ("branch", branch, 0),
        ("branch", f"{branch} #2", 5),
        ("line", "core: always @(posedge aclk) (block)", 2),
    ]


def test_both_sides_of_an_explanation_are_held():
    found = CodeCoverage("compressor", EXPLAINED)
    found.hits["toggle"].update({"a[0] 0->1": 3, "a[0] 1->0": 0, "b 0->1": 0})
    found.hits["branch"]["c: x ? y : z (then)"] = 1
    found.explained = {"a[0] 1->0": "why", "b 0->1": "why"}
    assert found.is_complete
    found.explained["c: x ? y : z (then)"] = "is reached"
    assert (found.wrongly_explained, found.is_complete) == (["c: x ? y : z (then)"], False)
    found.explained = {"b 0->1": "why", "d 0->1": "is not there"}
    assert found.wrongly_explained == ["d 0->1"]
    assert found.unexplained("toggle") == ["a[0] 1->0"]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a.b", ["a.b 0->1", "a.b 1->0"]),
        ("a[3] 0->1", ["a[3] 0->1"]),
        ("a[3:2] 1->0", ["a[2] 1->0", "a[3] 1->0"]),
        ("a$9[1:0]", ["a$9[0] 0->1", "a$9[0] 1->0", "a$9[1] 0->1", "a$9[1] 1->0"]),
        ("core.x: $ ? a [3:0] : b (else)", ["core.x: $ ? a [3:0] : b (else)"]),
    ],
)
def test_short_forms(text, items):
    assert expand(text) == items
    assert condense(items) == [text]


def test_short_forms_of_what_has_holes():
    items = [item for text in ("a[12:9]", "a[7]", "a[2] 0->1", "b") for item in expand(text)]
    assert condense(items) == ["a[2] 0->1", "a[7]", "a[12:9]", "b"]
    assert condense([]) == []


@UNIT
def test_every_explanation_has_a_reason(unit):
    found = explanations(unit)
    assert found
    assert all(re.fullmatch(r"[A-Z].{20,}\.", why, re.DOTALL) for why in found.values())
