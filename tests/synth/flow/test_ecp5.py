"""ECP5: the rule of counting LUT4, and a real run on a small unit."""

import json

import pytest

from cdma.synth.flow import ecp5, measure
from cdma.synth.flow.ecp5 import Area
from cdma.toolchain.steps import Steps


def test_carries_count_two_and_lut_rams_four():
    cells = {
        "LUT4": 100,
        "CCU2C": 10,
        "TRELLIS_DPR16X4": 3,
        "PFUMX": 50,
        "L6MUX21": 20,
        "TRELLIS_FF": 7,
        "DP16KD": 2,
        "MULT18X18D": 1,
    }
    assert Area.of_cells(cells) == Area(
        lut4=100 + 2 * 10 + 4 * 3, flip_flops=7, carries=10, lut_rams=3, block_rams=2, multipliers=1
    )


def test_a_cell_without_a_rule_is_refused():
    with pytest.raises(ValueError, match=r"^Cells must be of \[.*\], not 'ALU54B'$"):
        Area.of_cells({"LUT4": 1, "ALU54B": 1})


def test_area_is_of_the_unit_and_the_netlist_of_unit_and_harness(steps, tiny):
    netlist = ecp5.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    # 16 bits of total, 16 of output, one of valid; an adder of 16 bits is 8 carry cells and one
    # more that begins the chain.
    assert netlist.area.flip_flops == 33
    assert netlist.area.carries in (8, 9)
    assert netlist.area.lut4 == 2 * netlist.area.carries + 1
    cells = [
        c["type"] for c in json.loads(netlist.harnessed)["modules"]["harness"]["cells"].values()
    ]
    # The harness has one for each of 18 inputs and two for each of 17 outputs.
    assert cells.count("TRELLIS_FF") == 33 + 18 + 2 * 17
    assert cells.count("CCU2C") == netlist.area.carries


def test_a_unit_that_does_not_fit_has_an_area_and_no_clock(monkeypatch, tmp_path, tiny):
    monkeypatch.setattr(ecp5, "DEVICE_LUT4", 10)
    said = []
    steps = Steps(tmp_path, lambda line, _: said.append(line))
    (found,) = measure.measure([tiny], steps, seeds=2)
    assert found["ecp5"]["flip_flops"] == 33
    assert (found["ecp5"]["fmax_mhz"], found["ecp5"]["seeds"]) == (None, 0)
    lut4 = found["ecp5"]["lut4"]
    assert said[-1] == f"tiny 2x8b32: {lut4} LUT4, the device has 10: not placed"


def test_fmax_of_one_seed(steps, tiny):
    netlist = ecp5.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    assert 100 < ecp5.fmax(steps, tiny.label, netlist, 1) < 1000


def test_nextpnr_takes_the_options_for_the_engine(steps, tiny):
    netlist = ecp5.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    assert 100 < ecp5.fmax(steps, tiny.label, netlist, 1, ecp5.FOR_ENGINE) < 1000
