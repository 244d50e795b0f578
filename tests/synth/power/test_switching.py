"""Changes are counted in their window, and packets pass through netlists as through the unit."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.synth import liberty
from cdma.synth.flow import asic
from cdma.synth.power import netlist, switching

VCD = """\
$scope module netlist $end
$var wire 1 ! n1 $end
$var wire 1 " n2 $end
$var wire 8 # bus $end
$upscope $end
$enddefinitions $end
$dumpvars
0!
x"
b0 #
$end
#10
1!
1"
b101 #
#20
0!
#30
1!
0"
#40
0!
"""


def test_changes_are_counted_before_each_end():
    first, second = switching.count(VCD, [20, 40])
    assert first == {"n1": 1}  # from unknown to 1 is no change
    assert second == {"n1": 2, "n2": 1}
    assert switching.count(VCD, [100, 200]) == [{"n1": 4, "n2": 1}, {}]


# A unit of one stage: takes a word of two bytes and gives its inverse in the next cycle.
MAPPED = """\
module cdma_stage(input aclk, input aresetn,
    input [15:0] s_axis_tdata, input [1:0] s_axis_tkeep, input s_axis_tlast, input s_axis_tvalid,
    output s_axis_tready, output [15:0] m_axis_tdata, output [1:0] m_axis_tkeep,
    output m_axis_tlast, output m_axis_tvalid, input m_axis_tready, input m_axis_sts_tready);
  assign s_axis_tready = 1'b1;
  wire [19:0] d = {{s_axis_tvalid, s_axis_tlast, s_axis_tkeep, s_axis_tdata}};
  wire [19:0] q;
  {flops}
  {inverters}
  assign {{m_axis_tvalid, m_axis_tlast, m_axis_tkeep}} = q[19:16];
endmodule
"""


@pytest.fixture
def stage(library_file, tmp_path):
    """Netlist of that unit."""
    text = MAPPED.format(
        flops="\n".join(f"DFF f{i}(.CK(aclk), .D(d[{i}]), .Q(q[{i}]));" for i in range(20)),
        inverters="\n".join(f"INV g{i}(.A(q[{i}]), .Y(m_axis_tdata[{i}]));" for i in range(16)),
    )
    library = liberty.read(library_file)
    return netlist.read("cdma_stage", asic.Mapped(0, 0, text), library, tmp_path)


@pytest.mark.usefixtures("iverilog")
@pytest.mark.parametrize("delay", [0, 1])
def test_a_packet_passes(stage, tmp_path, delay):
    data = np.array([0x00FF, 0x00FE, 0x00FE, 0x80FE, 0x12], "<u2").tobytes()[:-1]
    run = switching.simulate(stage, data, None, tmp_path, delay)
    assert run.output == bytes(255 - byte for byte in data)
    assert run.idle.cycles == switching.IDLE_CYCLES
    (clock,) = stage.ports["aclk"][1]
    assert run.idle.toggles == {clock: 2 * switching.IDLE_CYCLES}
    assert run.busy.cycles == 6
    assert run.busy.toggles[clock] == 12
    # Bit 0 of the words is 1, 0, 0, 0, 0; what stood there before the first is not counted.
    assert run.busy.toggles[stage.ports["s_axis_tdata"][1][0]] == 1
    assert run.busy.toggles[stage.ports["s_axis_tdata"][1][15]] == 2


@pytest.mark.usefixtures("iverilog")
def test_a_packet_that_does_not_come_out(stage, tmp_path):
    ports = {**stage.ports, "m_axis_tlast": ("output", ["1'b0"])}
    dead = netlist.Netlist(ports, stage.instances)
    with pytest.raises(UserError, match=r"^the netlist does not give the packet back"):
        switching.simulate(dead, b"ab", None, tmp_path)
