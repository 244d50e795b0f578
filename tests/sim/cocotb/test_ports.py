"""The checks of ports catch each violation: one small broken port for each rule."""

import re
from types import SimpleNamespace

import pytest

from cdma.sim.cocotb.ports import Source, junk
from cdma.sim.job import Drain, Feed, Stimulus
from cdma.sim.simulate import BENCH
from cdma.toolchain import simulators

TOP = "ports"

#: What the port ``good`` does: packets of two beats, for ever.
GOOD = """
  if (!aresetn) good_tvalid <= 0;
  else if (!good_tvalid || good_tready) begin
    good_tvalid <= 1; good_tdata <= 32'h04030201; good_tkeep <= 15;
    good_tlast <= good_tvalid ? !good_tlast : 0;
  end
"""

#: By port: what it does in every cycle in which it does not merely offer an empty last beat, and
#: the expected message. ``V`` stands for tvalid and so on.
BROKEN = {
    "drop": ("V <= aresetn && step[0];", "tvalid fell without a handshake"),
    "data": ("D <= step;", "tdata changed while the beat was stalled"),
    "last": ("L <= step[0];", "tlast changed while the beat was stalled"),
    "keep": ("K <= step;", "tkeep changed while the beat was stalled"),
    "hole": ("K <= 5;", "tkeep 0101 is not contiguous from byte 0"),
    "part": ("K <= 7; L <= 0;", "tkeep 0111 is not all ones before the last beat"),
    "dirt": ("K <= 7; D <= 32'h01000000;", "a byte that is not kept is not zero"),
}
UNKNOWN = {
    "xvalid": ("V <= aresetn ? 1'bx : 0;", "tvalid is X, expected 0 or 1"),
    "xlast": ("L <= 1'bx;", "tlast is X, expected 0 or 1"),
    "xkeep": ("K <= 4'b00x1;", "tkeep 00X1 is not contiguous from byte 0"),
    "zdata": ("K <= 15; D <= {32{1'bz}};", "tdata of the packet that ended has X or Z bits"),
}


def verilog(broken):
    names = ["good", "lazy", "mute", "early", *broken]
    ports = [
        f"output reg [31:0] {n}_tdata, output reg [3:0] {n}_tkeep, output reg {n}_tlast, "
        f"output reg {n}_tvalid, input {n}_tready"
        for n in names
    ]
    ports.append("input [31:0] s_tdata, input s_tvalid, output s_tready")
    bodies = [GOOD, "lazy_tvalid <= aresetn && lazy_tready && !lazy_tvalid; lazy_tlast <= 1;"]
    bodies.append("early_tvalid <= 1; early_tlast <= 1;")
    for name, (body, _) in broken.items():
        usual = "V <= aresetn; D <= 0; K <= 0; L <= 1;" + body
        bodies.append(
            re.sub(r"\b([VDKL]) <=", lambda m, n=name: f"{n}_t{_SIGNALS[m[1]]} <=", usual)
        )
    resets = "".join(f"{n}_tvalid = 0; {n}_tdata = 0; {n}_tkeep = 0; " for n in names)
    return f"""
module {TOP}(input aclk, input aresetn, {", ".join(ports)});
  reg [7:0] step;
  initial begin step = 0; {resets} end
  always @(posedge aclk) begin
    step <= step + 1;
    {" ".join(bodies)}
  end
endmodule
"""


_SIGNALS = {"V": "valid", "D": "data", "K": "keep", "L": "last"}


def reports_of(broken, simulator, stimuli):
    folder = simulators.build(verilog(broken), TOP, simulator)
    return dict(
        zip(
            stimuli,
            simulators.run(folder, TOP, list(stimuli.values()), BENCH, simulator),
            strict=True,
        )
    )


def draining(port, stall, count=40):
    return Stimulus({}, {port: Drain(count, stall)}, seed=3)


@pytest.fixture(scope="module")
def reports():
    """What each port does under Verilator, by its name."""
    stimuli = {name: draining(name, "bursts:2,2") for name in (*BROKEN, "mute", "early")}
    stimuli["good"] = draining("good", "bernoulli:0.5", 400)
    stimuli["good, paused"] = draining("good", "paused:200")
    stimuli["lazy, paused"] = draining("lazy", "paused:200")
    return reports_of(BROKEN, "verilator", stimuli)


@pytest.fixture(scope="module")
def four_state_reports(icarus):
    """What each port does under Icarus, where values may be unknown."""
    stimuli = {name: draining(name, "never") for name in UNKNOWN}
    stimuli["ready"] = Stimulus({"s": Feed([b"1234"])}, {})
    return reports_of(UNKNOWN, icarus, stimuli)


def test_sound_port_passes(reports):
    report = reports["good"]
    assert report.failure == ""
    assert {(p.data, p.beats) for p in report.packets["good"]} == {(b"\1\2\3\4" * 2, 2)}
    assert report.stalls["good"] > 100


@pytest.mark.parametrize("port", BROKEN)
def test_violation_is_caught(port, reports):
    message = re.escape(f"{port}: {BROKEN[port][1]}")
    assert re.match(rf"^{message} in cycle \d+$", reports[port].failure), reports[port].failure


def test_valid_in_reset_is_caught(reports):
    assert reports["early"].failure == "early: tvalid is 1 in reset, expected 0"


def test_silence_is_a_hang(reports):
    message = r"^hangs: no handshake since cycle 0; 0 of 40 packets out at mute$"
    assert re.match(message, reports["mute"].failure), reports["mute"].failure


def test_valid_that_waits_for_ready_shows_as_no_stall(reports):
    assert reports["lazy, paused"].stalls["lazy"] == 0
    assert reports["good, paused"].stalls["good"] > 190


@pytest.mark.parametrize("port", UNKNOWN)
def test_unknown_value_is_caught(port, four_state_reports):
    message = re.escape(f"{port}: {UNKNOWN[port][1]}")
    failure = four_state_reports[port].failure
    assert re.match(rf"^{message} in cycle \d+$", failure), failure


def test_unknown_ready_is_caught(four_state_reports):
    failure = four_state_reports["ready"].failure
    assert failure == "s: tready is Z in cycle 0, expected 0 or 1"


class Pin:
    def __init__(self, bits, value=0):
        self.bits, self.value = bits, value

    def __len__(self):
        return self.bits


def test_junk_goes_only_where_nobody_may_look():
    dut = SimpleNamespace(
        s_tdata=Pin(64), s_tkeep=Pin(8), s_tlast=Pin(1), s_tvalid=Pin(1), s_tready=Pin(1, 1)
    )
    packets = [bytes(range(1, 21)), b""]
    source = Source(dut, "s", packets, iter([True] * 9), junk(1), word_bytes=4)
    seen = []
    for cycle in range(6):
        source.tick(cycle)
        if dut.s_tvalid.value:
            seen.append((dut.s_tdata.value, dut.s_tkeep.value, dut.s_tlast.value))
    assert [last for _, _, last in seen] == [0, 0, 1, 1]
    whole = [data.to_bytes(8, "little") for data, _, _ in seen]
    assert whole[0] + whole[1] + whole[2][:4] == packets[0]
    assert [keep & 0b00010001 for _, keep, _ in seen[2:]] == [0b00000001, 0]
    assert any(keep != 0xFF for _, keep, _ in seen[:2])
    assert source.is_done
