"""AMD 7 series: a small unit counted by hand, and the units of a generated size."""

import pytest

from cdma.hdl.zvc.config import Config
from cdma.synth.flow import measure
from cdma.synth.flow.fpga import xilinx


def test_area_of_a_small_unit(steps, tiny):
    netlist = xilinx.synthesise(steps, tiny.label, tiny.top, tiny.verilog)
    # 16 bits of total, 16 of output, one of valid; four carry cells and a LUT a bit for 16 bits.
    assert netlist.area.flip_flops == 33
    assert netlist.area.carries == 4
    assert 16 <= netlist.area.luts <= 18
    assert (netlist.area.lut_rams, netlist.area.block_rams) == (0, 0)
    assert netlist.harnessed is None


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_generated_units_have_an_area_and_no_clock(steps, unit):
    design = measure.generated(unit, Config.of(2, 8, 32))
    (record,) = measure.measure([design], steps, seeds=2, targets=["xilinx"])
    assert record["ecp5"] is None
    assert record["xilinx"]["luts"] > 100
    assert record["xilinx"]["lut_rams"] > 0
    assert (record["xilinx"]["seeds"], record["xilinx"]["fmax_mhz"]) == (0, None)
