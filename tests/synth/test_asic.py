"""Standard cells: real runs on a small unit and a toy library."""

import os
import re
import shutil

import pytest

from cdma.errors import UserError
from cdma.synth import asic, liberty

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
    period = asic.critical_path(steps, tiny.label, tiny.top, mapped, library, "abc")
    # An addition of 16 bits is more than three gates and fewer than sixty; a gate is 10 to 75 ps.
    assert 0.05 < period < 4.5


@needs_opensta
def test_paths_from_input_to_output_count(steps, library_file):
    library = liberty.read(library_file)
    text = "module through(input aclk, input [7:0] a, output y); assign y = ^a; endmodule"
    mapped = asic.synthesise(steps, "through", "through", text, library, "abc")
    assert mapped.storage == 0.0
    assert 0.02 < asic.critical_path(steps, "through", "through", mapped, library, "abc") < 2


@pytest.mark.skipif("CDMA_LIBERTY" not in os.environ, reason="CDMA_LIBERTY is not set")
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


@pytest.mark.parametrize(
    ("answer", "slack"),
    [
        ("   98.7654   slack (MET)\n", 98.7654),
        ("  -0.1200   slack (VIOLATED)\n", -0.12),
    ],
)
def test_slack_is_read(answer, slack):
    assert asic.slack("unit", f"Startpoint: a\n{answer}\n") == slack


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [("No paths found.\n", "No paths found."), ("", "no output")],
)
def test_no_path_is_an_error(answer, complaint):
    with pytest.raises(UserError, match=rf"^unit: OpenSTA timed no path \({complaint}\)$"):
        asic.slack("unit", answer)
