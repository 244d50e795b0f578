"""A mapped netlist, read back and written as plain Verilog."""

import re
import subprocess

import pytest

from cdma.errors import UserError
from cdma.synth import liberty
from cdma.synth.flow import asic
from cdma.synth.power import netlist

MAPPED = """\
module unit(input aclk, input [1:0] a, output [1:0] y);
  wire hidden, state;
  NAND2 g0(.A(a[0]), .B(a[1]), .Y(hidden));
  DFF f0(.CK(aclk), .D(hidden), .Q(state));
  INV g1(.A(state), .Y(y[0]));
  assign y[1] = 1'b1;
endmodule
"""

BENCH = """\
module bench;
  reg aclk = 0; reg [1:0] a = 3; wire [1:0] y;
  dut dut(aclk, a, y);
  initial begin
    #9 aclk = 1; #9 $display("%b", y);
    a = 2; #9 $display("%b", y);
    aclk = 0; #9 aclk = 1; #9 $display("%b", y);
  end
endmodule
"""


@pytest.fixture
def gates(library_file, tmp_path):
    """The netlist above, read."""
    library = liberty.read(library_file)
    return netlist.read("unit", asic.Mapped(0, 0, MAPPED), library, tmp_path)


def test_ports_cells_and_loads(gates):
    assert {name: (way, len(nets)) for name, (way, nets) in gates.ports.items()} == {
        "aclk": ("input", 1),
        "a": ("input", 2),
        "y": ("output", 2),
    }
    assert gates.ports["y"][1][1] == "1'b1"
    assert sorted(each.cell.name for each in gates.instances) == ["DFF", "INV", "NAND2"]
    loads = gates.loads()
    assert {loads[net] for net in (*gates.ports["aclk"][1], *gates.ports["a"][1])} == {0.001}
    assert loads[gates.ports["y"][1][0]] == 0.0


@pytest.mark.parametrize("delay", [0, 1])
def test_verilog_does_what_the_netlist_does(gates, tmp_path, iverilog, delay):
    (tmp_path / "dut.v").write_text(gates.verilog("dut", delay) + BENCH)
    command = [iverilog, "-g2005", "-Wall", "-Wno-timescale", "-o", "dut.vvp", "-s", "bench"]
    built = subprocess.run(
        [*command, "dut.v"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert built.stderr == ""
    finished = subprocess.run(["vvp", "dut.vvp"], cwd=tmp_path, capture_output=True, text=True)
    # The inverse of the state, which takes !(a[0] & a[1]) at the clock's edge.
    assert finished.stdout.split() == ["11", "11", "10"]


def test_registers_begin_at_values_of_the_seed(gates):
    starts = {
        re.search(r"reg \w+ = 1'b(\d);", gates.verilog("dut", seed=seed))[1] for seed in range(20)
    }
    assert starts == {"0", "1"}
    assert gates.verilog("dut", seed=3) == gates.verilog("dut", seed=3)


def test_another_clock_is_refused(library_file, tmp_path):
    text = MAPPED.replace(".CK(aclk)", ".CK(a[0])")
    with pytest.raises(UserError, match=r"^DFF: is not clocked by aclk$"):
        netlist.read("unit", asic.Mapped(0, 0, text), liberty.read(library_file), tmp_path)
