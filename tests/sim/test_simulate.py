"""``cosim`` accepts equal streams, and reports a wrong bit, a lost packet or a slow unit."""

import shutil

import numpy as np
import pylibfst
import pytest

from cdma.errors import UserError
from cdma.golden import compress
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, cosim, cosim_all

CONFIG = Config.of(4, 16)
WORDS = [np.arange(1, 101, dtype="<u2"), np.zeros(5, "<u2"), np.array([], "<u2")]


def wrapped(tdata="data", tvalid="valid", tlast="last", status="status"):
    """The compressor behind a wrapper that spoils what comes out of it, by Verilog expressions."""
    inner = emit.verilog("compressor", CONFIG).replace("cdma_compressor", "inner_compressor")
    bits = CONFIG.beat_bits
    return (
        inner
        + f"""
module cdma_compressor(
  input aclk, input aresetn,
  input [{bits - 1}:0] s_axis_tdata, input [{bits // 8 - 1}:0] s_axis_tkeep, input s_axis_tlast,
  input s_axis_tvalid, output s_axis_tready,
  output [{bits - 1}:0] m_axis_tdata, output [{bits // 8 - 1}:0] m_axis_tkeep, output m_axis_tlast,
  output m_axis_tvalid, input m_axis_tready,
  output [63:0] m_axis_sts_tdata, output m_axis_sts_tvalid, input m_axis_sts_tready);
  wire [{bits - 1}:0] data;
  wire [63:0] status;
  reg [9:0] beats;
  initial beats = 0;
  always @(posedge aclk) beats <= aresetn ? beats + (m_axis_tvalid && m_axis_tready) : 0;
  wire valid, last;
  assign m_axis_tlast = {tlast};
  assign m_axis_tdata = {tdata};
  assign m_axis_tvalid = {tvalid};
  assign m_axis_sts_tdata = {status};
  inner_compressor inner(.aclk(aclk), .aresetn(aresetn), .s_axis_tdata(s_axis_tdata),
    .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast), .s_axis_tvalid(s_axis_tvalid),
    .s_axis_tready(s_axis_tready), .m_axis_tdata(data), .m_axis_tkeep(m_axis_tkeep),
    .m_axis_tlast(last), .m_axis_tvalid(valid), .m_axis_tready(m_axis_tready),
    .m_axis_sts_tdata(status), .m_axis_sts_tvalid(m_axis_sts_tvalid),
    .m_axis_sts_tready(m_axis_sts_tready));
endmodule
"""
    )


def test_equal_packets_have_no_problem():
    result = cosim("compressor", WORDS, CONFIG)
    assert result.problem == ""
    assert [packet.output for packet in result.packets] == [
        compress(words, CONFIG.format).tobytes() for words in WORDS
    ]
    first = result.packets[0]
    assert (first.beats_in, first.beats_out) == (25, 27)
    assert first.cycles >= 27
    assert result.cycles <= result.bound


@pytest.mark.slow
def test_flipped_bit_is_named():
    result = cosim(
        "compressor", WORDS, CONFIG, verilog=wrapped(tdata="data ^ (beats == 2 ? 64'h100 : 0)")
    )
    stream = compress(WORDS[0], CONFIG.format)
    assert result.problem == (
        f"compressor 4x16: packet 0: byte 17 (cycle {result.packets[0].output_cycles[2]}, beat 2, "
        f"block 0, byte 1 of word 4) is 0x{stream[17] ^ 1:02x}, expected 0x{stream[17]:02x}; "
        f"from byte 14 on: 04 00 05 01 06 00 07, expected 04 00 05 00 06 00 07"
    )


@pytest.mark.slow
def test_wrong_status_is_named():
    result = cosim("compressor", WORDS, CONFIG, verilog=wrapped(status="status + 1"))
    size = compress(WORDS[0], CONFIG.format).size
    assert result.difference == f"packet 0: status is 101, {size}, expected 100, {size}"


@pytest.mark.slow
def test_lost_packet_is_a_hang_not_a_pass():
    result = cosim("compressor", WORDS, CONFIG, verilog=wrapped(tvalid="valid && beats < 3"))
    assert result.failure.startswith("hangs: no handshake since cycle ")
    assert "0 of 3 packets out at m_axis" in result.problem


@pytest.mark.slow
def test_surplus_packet_is_reported():
    beats = sum(-(-compress(w, CONFIG.format).size // CONFIG.beat_bytes) or 1 for w in WORDS)
    over = f"beats == {beats}"
    extra = wrapped(tdata="valid ? data : 0", tvalid=f"valid || {over}", tlast=f"last || {over}")
    result = cosim("compressor", WORDS, CONFIG, verilog=extra)
    assert result.problem == "compressor 4x16: m_axis gave 4 packets, expected 3"


def test_too_many_cycles_are_reported(monkeypatch):
    monkeypatch.setattr(emit, "latency", lambda unit, config: -100)
    result = cosim("compressor", WORDS, CONFIG)
    assert result.is_fast_enough is False
    assert result.problem == (
        f"compressor 4x16: took {result.cycles} cycles, at most {result.bound} expected"
    )


def test_rule_says_nothing_under_back_pressure():
    result = cosim("compressor", WORDS, CONFIG, stall={"sink": "alternating"})
    assert result.is_fast_enough is None
    assert result.problem == ""


@pytest.mark.parametrize("simulator", ["verilator", "fast"])
def test_one_array_is_one_packet(simulator):
    result = cosim("compressor", WORDS[0].reshape(10, 10), CONFIG, simulator)
    assert [packet.output for packet in result.packets] == [compress(WORDS[0]).tobytes()]
    assert result.problem == ""


@pytest.mark.parametrize(
    "simulator",
    ["icarus", *(pytest.param(s, marks=pytest.mark.slow) for s in ("verilator", "fast"))],
)
def test_waveforms_have_the_ports_and_their_values(simulator, tmp_path):
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    file = tmp_path / "waves.fst"
    result = cosim("compressor", WORDS[:1], CONFIG, simulator, waves=file)
    assert result.problem == ""
    reader = pylibfst.lib.fstReaderOpen(str(file).encode())
    _, signals = pylibfst.get_scopes_signals2(reader)
    names = {name.rpartition(".")[2].partition(" ")[0] for name in signals.by_name}
    assert {"aclk", "s_axis_tdata", "m_axis_sts_tdata"} <= names
    last = pylibfst.lib.fstReaderGetEndTime(reader)
    assert last > result.cycles  # two changes of the clock in a cycle
    pylibfst.lib.fstReaderClose(reader)


@pytest.mark.slow
def test_waveforms_of_a_failing_run_are_kept(tmp_path):
    spoiled = wrapped(tdata="data ^ 1")
    result = cosim("compressor", WORDS, CONFIG, "fast", verilog=spoiled, waves=tmp_path / "w.vcd")
    assert result.problem
    assert "$enddefinitions" in (tmp_path / "w.vcd").read_text()


@pytest.mark.parametrize("simulator", [pytest.param("verilator", marks=pytest.mark.slow), "fast"])
def test_a_file_in_place_of_what_is_generated(simulator, tmp_path):
    (tmp_path / "edited.v").write_text(wrapped(tdata="data ^ 1"))
    result = cosim("compressor", WORDS[:1], CONFIG, simulator, verilog=tmp_path / "edited.v")
    assert "byte 0 " in result.problem


def test_a_file_without_the_module_is_refused(tmp_path):
    (tmp_path / "other.v").write_text("module other; endmodule\n")
    with pytest.raises(UserError, match=r"other\.v: has no module cdma_compressor$"):
        cosim("compressor", WORDS, CONFIG, verilog=tmp_path / "other.v")
    with pytest.raises(UserError, match=r"missing\.v: cannot read this Verilog "):
        cosim("compressor", WORDS, CONFIG, verilog=tmp_path / "missing.v")


@pytest.mark.parametrize("name", ["waves.ghw", "waves"])
def test_other_forms_of_waveforms_are_refused(name, tmp_path):
    with pytest.raises(UserError, match=r"waveforms are written as \.fst or \.vcd$"):
        cosim("compressor", WORDS, CONFIG, "fast", waves=tmp_path / name)


def test_scenarios_of_one_simulation_do_not_touch_each_other():
    scenarios = [Scenario(WORDS[:1]), Scenario(WORDS[1:], "alternating"), Scenario(WORDS[:1])]
    first, _, third = cosim_all("compressor", scenarios, CONFIG)
    assert first.packets == third.packets


def test_result_repeats_for_a_seed():
    runs = [cosim("compressor", WORDS, CONFIG, stall="bernoulli:0.5", seed=4) for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("unit", "packets", "error", "message"),
    [
        (
            "squeezer",
            [],
            UserError,
            "^Unit must be one of compressor, decompressor, roundtrip, not ",
        ),
        ("compressor", [np.zeros(4, "<u4")], ValueError, "^Element size must be 2 bytes "),
        ("compressor", [1, 2], UserError, "^Packet 0 of the compressor must be an array, not int$"),
        (
            "decompressor",
            [(b"", 0), b"abc"],
            UserError,
            "^Packet 1 of the decompressor must be a pair of a stream and its number of words, ",
        ),
        ("decompressor", np.zeros(4, "u1"), UserError, "^Packet 0 of the decompressor must be a "),
    ],
)
def test_mistakes_are_refused(unit, packets, error, message):
    with pytest.raises(error, match=message):
        cosim(unit, packets, CONFIG)
