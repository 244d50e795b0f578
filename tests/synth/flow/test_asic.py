"""Standard cells: real runs on a small unit and a toy library."""

import os
import re
import shutil

import pytest

from cdma.errors import UserError
from cdma.synth import liberty
from cdma.synth.flow import asic

needs_opensta = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")


def test_area_is_the_sum_of_the_cells(steps, tiny, library_file):
    library = liberty.read(library_file)
    mapped = asic.synthesise(steps, tiny.label, tiny.top, tiny.verilog, library, "abc")
    areas = {
        cell: float(area)
        for cell, area in re.findall(r"cell\((\w+)\) \{ area : ([\d.]+)", library.text)
    }
    cells = re.findall(rf"^\s+({'|'.join(areas)}) \S+ \($", mapped.netlist, re.MULTILINE)
    assert mapped.area == pytest.approx(sum(areas[cell] for cell in cells))
    assert mapped.storage == 330.0
    assert mapped.logic == pytest.approx(mapped.area - 330.0)
    assert cells.count("DFF") == 33


@needs_opensta
def test_critical_path_is_plausible(steps, tiny, library_file):
    library = liberty.read(library_file)
    mapped = asic.synthesise(steps, tiny.label, tiny.top, tiny.verilog, library, "abc")
    timing = asic.critical_path(steps, tiny.label, tiny.top, mapped, library, "abc")
    # An addition of 16 bits is more than three gates and fewer than sixty; a gate is 10 to 75 ps.
    assert 0.05 < timing.period_ns < 4.5
    assert 3 < timing.gates < 60
    assert re.fullmatch(r"total\[\d+\]|s_axis_tdata\[\d+\]|s_axis_tvalid", timing.start)
    assert re.fullmatch(r"total\[\d+\]", timing.end)


@needs_opensta
def test_paths_from_input_to_output_count(steps, library_file):
    library = liberty.read(library_file)
    text = "module through(input aclk, input [7:0] a, output y); assign y = ^a; endmodule"
    mapped = asic.synthesise(steps, "through", "through", text, library, "abc")
    assert mapped.storage == 0.0
    timing = asic.critical_path(steps, "through", "through", mapped, library, "abc")
    assert 0.02 < timing.period_ns < 2
    assert timing.start.startswith("a[")
    assert timing.end == "y"


@pytest.mark.skipif(not os.environ.get("CDMA_LIBERTY"), reason="CDMA_LIBERTY is not set")
def test_tuned_script_trades_area_for_speed(steps, tiny):
    # ABC's `map`, which the tuned script uses, refuses the toy library.
    library = liberty.read(os.environ["CDMA_LIBERTY"])
    unit = (steps, tiny.label, tiny.top)
    own, tuned = (asic.synthesise(*unit, tiny.verilog, library, flow) for flow in ("abc", "tuned"))
    assert own.storage == tuned.storage
    assert own.netlist != tuned.netlist
    assert 0.8 < tuned.area / own.area < 1.6


ENABLED_FLIP_FLOP = """\
cell(DFFE) { area : 12; ff(IQ, IQN) { clocked_on : "CK"; next_state : "(E D) + (!E IQ)"; }
  pin(CK) { direction : input; clock : true; } pin(D) { direction : input; }
  pin(E) { direction : input; } pin(Q) { direction : output; function : "IQ"; } }
"""


def test_enables_become_multiplexers_where_the_library_has_enables(steps, tiny, library_file):
    text = library_file.read_text().replace("cell(DFF)", f"{ENABLED_FLIP_FLOP}cell(DFF)")
    library_file.write_text(text)
    library = liberty.read(library_file)
    mapped = asic.synthesise(steps, tiny.label, tiny.top, tiny.verilog, library, "abc")
    assert "DFFE " not in mapped.netlist
    assert mapped.storage == 330.0


ANSWER = """\
Startpoint: _2_ (rising edge-triggered flip-flop clocked by aclk)
Endpoint: _4_ (rising edge-triggered flip-flop clocked by aclk)

    Delay      Time   Description
   0.0000    0.0000 ^ _2_/CK (DFF_X1)
   0.0862    0.0862 ^ _2_/Q (DFF_X1)
   0.0393    0.1255 v _3_/Z (BUF_X2)
   0.0000    0.6926 v _4_/D (DFF_X1)
             0.6926   data arrival time
           100.0000 ^ _4_/CK (DFF_X1)
"""
NETLIST = """\
  DFF_X1 _2_ (
    .CK(aclk),
    .Q(\\core.reader.count [3])
  );
  DFF_X1 _4_ (
    .D(_9_),
    .Q(_5_)
  );
"""


@pytest.mark.parametrize(
    ("slack", "period"),
    [("   98.7654   slack (MET)", 1.2346), ("  -0.1200   slack (VIOLATED)", 100.12)],
)
def test_critical_path_is_read(slack, period):
    timing = asic.timing("unit", f"{ANSWER}{slack}\n", NETLIST)
    assert timing == asic.Timing(pytest.approx(period), "core.reader.count[3]", "_4_", 1)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [("No paths found.\n", "No paths found."), ("", "no output")],
)
def test_no_path_is_an_error(answer, complaint):
    with pytest.raises(UserError, match=rf"^unit: OpenSTA timed no path \({complaint}\)$"):
        asic.timing("unit", answer, "")
