"""The compiled model: the same cycles, bytes and rules as under cocotb."""

import itertools
import re
import threading

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import ErrorCode, Format, compress
from cdma.hdl.zvc.config import LANES, Config
from cdma.sim import RtlModel, Scenario, SimulationError, Violation, cosim_all, stimulus
from cdma.sim.compiled import build, unit
from cdma.toolchain import simulators

UNITS = ("compressor", "decompressor", "roundtrip")
SMALL = Config.of(2, 8, 32)

#: A design with the ports of the smallest compressor that gives back what it is fed, and breaks the
#: rule whose number is the first byte of a packet.
FAULTY = """
module cdma_compressor(
  input aclk, input aresetn,
  input [15:0] s_axis_tdata, input [1:0] s_axis_tkeep, input s_axis_tlast,
  input s_axis_tvalid, output s_axis_tready,
  output [15:0] m_axis_tdata, output [1:0] m_axis_tkeep, output m_axis_tlast,
  output m_axis_tvalid, input m_axis_tready,
  output [63:0] m_axis_sts_tdata, output m_axis_sts_tvalid, input m_axis_sts_tready);
  reg [15:0] data; reg [1:0] keep; reg last, valid, first, due; reg [7:0] fault, age;
  wire flip = (fault == 10) & ~flip;
  assign s_axis_tready = ~valid | (m_axis_tready & fault != 7 & fault != 8);
  assign m_axis_tdata = data ^ (fault == 2 ? age[2] : fault == 5 ? 16'hff00 : 0);
  assign m_axis_tkeep = fault == 3 ? 2'b10 : fault == 4 ? 2'b01 : keep;
  assign m_axis_tlast = last & fault != 9;
  assign m_axis_tvalid = (valid & ~(fault == 1 & age == 5) & fault != 7) ^ flip;
  assign m_axis_sts_tdata = 0;
  assign m_axis_sts_tvalid = due | (fault == 6 & valid);
  always @(posedge aclk) begin
    age <= age + 1;
    if (m_axis_sts_tready) due <= 0;
    if (m_axis_tvalid & m_axis_tready) begin
      due <= m_axis_tlast;
      valid <= fault == 8 | fault == 9;
    end
    if (s_axis_tvalid & s_axis_tready) begin
      {valid, first, age} <= {1'b1, s_axis_tlast, 8'b0};
      {data, keep, last} <= {s_axis_tdata, s_axis_tkeep, s_axis_tlast};
      if (first) fault <= s_axis_tdata[7:0];
    end
    if (~aresetn) {valid, due, first, fault} <= {2'b00, 1'b1, 8'b0};
  end
endmodule
"""
#: What a packet that begins with the number of a fault, then how many bytes, does.
FAULTS = {
    (1, 4): "m_axis: tvalid fell without a handshake in cycle 7",
    (2, 4): "m_axis: tdata changed while the beat was stalled in cycle 6",
    (3, 4): "m_axis: tkeep is not contiguous from byte 0 in cycle 31",
    (4, 4): "m_axis: tkeep is not all ones before the last beat in cycle 31",
    (5, 1): "m_axis: a byte that is not kept is not zero in cycle 31",
    (7, 2): "hangs: no handshake since cycle 1; 1 of 1 packets in at s_axis, "
    "0 of 1 packets out at m_axis, 0 of 1 packets out at m_axis_sts",
}
#: cocotb reports these faults later, or not at all.
MORE_FAULTS = {
    (6, 2): "m_axis_sts: status of packet 0 came before its last beat was taken in cycle 2",
    (8, 2): "m_axis: gives more packets than expected in cycle 3",
    (9, 2): "m_axis: gives more bytes than it may in cycle ",
    (10, 2): "DIDNOTCONVERGE",
}
PAUSE = {"sink": "paused:30"}


def packet_of(fault, size):
    return np.array([fault, *[7] * (size - 1)], np.uint8)


@pytest.fixture(scope="module")
def faulty():
    """Model of the design that breaks rules."""
    return RtlModel("compressor", SMALL.format, SMALL.lanes, verilog=FAULTY)


@pytest.fixture(scope="module", params=["8x32", "4x16"])
def models(request):
    """Models of one size, by unit."""
    lanes, bits = map(int, request.param.split("x"))
    return {unit: RtlModel(unit, Format(bits), lanes) for unit in UNITS}


def parity_scenarios(unit, config):
    packets = stimulus.packets(config, seed=1)[:12]
    if unit == "decompressor":
        bad = stimulus.malformed(config, np.random.default_rng(3))[::7]
        packets = stimulus.streams(packets, config) + bad
    stalls = [
        *("never", "bernoulli:0.4", "bursts:5,7", "alternating"),
        *({"sink": "always-but-one:5"}, {"status": "paused:300"}),
        {"source" if unit == "compressor" else "command": "paused:90,20"},
    ]
    return [
        Scenario(packets, stall, seed, is_dirty=seed % 2 == 1, reset_at=31 if seed > 4 else None)
        for seed, stall in enumerate(stalls)
    ]


def assert_same_as_cocotb(unit, config):
    scenarios = parity_scenarios(unit, config)
    under_cocotb = cosim_all(unit, scenarios, config)
    compiled = cosim_all(unit, scenarios, config, "fast")
    assert [result.problem for result in compiled] == [""] * len(scenarios)
    assert all(sum(result.stalls.values()) for result in compiled[1:4])
    assert compiled == under_cocotb


@pytest.mark.parametrize("unit", [*UNITS[:2], pytest.param(UNITS[2], marks=pytest.mark.slow)])
def test_same_as_cocotb(unit):
    assert_same_as_cocotb(unit, Config.of(4, 16))


# The loop around a unit depends on the widths of its words and beats only. Verilator's translation
# also depends on how the unit is built: 4x8b8 looks masks up, and one size is for cells.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("2x8b32", "4x8b8", "8x32", "8x32-asic", "8x32b96"),
        *("2x32", "4x64", "16x16", "16x32", "32x32"),
    ],
)
@pytest.mark.parametrize("unit", UNITS)
def test_sizes_are_the_same_as_cocotb(unit, name):
    assert_same_as_cocotb(unit, Config.parse(name))


# Every number of lanes and every width, with the smallest and the largest beats among them.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lanes", "bits"), [*zip(LANES, (8, 32, 16, 64, 8, 64), strict=True), (2, 64)]
)
def test_any_width(lanes, bits):
    config = Config.of(lanes, bits, max(lanes, bits))
    scenario = Scenario(stimulus.packets(config)[:20], "bernoulli:0.3", is_dirty=True)
    (result,) = cosim_all("roundtrip", [scenario], config, "fast")
    assert result.problem == ""


def test_function_on_an_array(models):
    model = models["compressor"]
    fmt = model.config.format
    words = stimulus.random_words(1001, 0.4, fmt, np.random.default_rng(0))
    array = words.view(words.dtype.str.replace("u", "f")).reshape(7, 143)
    stream = compress(array, fmt)
    result = model.run(array)
    assert result.output.dtype == np.uint8
    np.testing.assert_array_equal(result.output, stream)
    assert result.status.tolist() == [[array.size, stream.size]]
    assert result.stalls["m_axis"] == 0
    beat = model.config.beat_bytes
    assert (result.beats_in, result.beats_out) == (
        -(-array.nbytes // beat),
        -(-len(stream) // beat),
    )
    assert result.beats_in <= result.cycles < result.beats_in + 100

    back = models["decompressor"].run(stream, count=array.size, stall="bernoulli:0.2", seed=3)
    assert back.output.dtype == fmt.dtype
    np.testing.assert_array_equal(back.output.view(array.dtype), array.reshape(-1))
    assert back.status.tolist() == [[stream.size, ErrorCode.NONE]]

    there_and_back = models["roundtrip"].run(array)
    np.testing.assert_array_equal(there_and_back.output.view(array.dtype), array.reshape(-1))
    assert there_and_back.ports["link"]["end"].tolist() == [stream.size]


def test_many_packets(models):
    config = models["compressor"].config
    rng = np.random.default_rng(1)
    packets = stimulus.packets(config, seed=2)
    sizes = [packet.size for packet in packets]
    streams = [compress(packet, config.format) for packet in packets]
    words, offsets = np.concatenate(packets), np.cumsum([0, *sizes])
    stream, stream_offsets = np.concatenate(streams), np.cumsum([0, *map(len, streams)])

    sent = models["compressor"].run_packets(words, offsets, "bursts:9,3", 5)
    np.testing.assert_array_equal(sent.output, stream)
    np.testing.assert_array_equal(sent.offsets, stream_offsets)
    np.testing.assert_array_equal(sent.status, np.stack([sizes, np.diff(stream_offsets)], axis=1))

    order = rng.permutation(len(packets))
    some = order[: len(order) // 2]
    received = models["decompressor"].run_packets(stream, sent.offsets, "alternating", counts=sizes)
    np.testing.assert_array_equal(received.output, words)
    np.testing.assert_array_equal(received.offsets, offsets)
    counts = np.array(sizes)
    counts[some] += 3 * config.format.block_words
    received = models["decompressor"].run_packets(stream, sent.offsets, counts=counts)
    assert set(received.status[some, 1]) == {ErrorCode.TRUNCATED}
    assert set(np.delete(received.status[:, 1], some)) == {ErrorCode.NONE}
    np.testing.assert_array_equal(np.diff(received.offsets), counts)


def test_part_of_an_array(models):
    words = np.arange(100, dtype=models["compressor"].config.format.dtype)
    result = models["compressor"].run_packets(words, [10, 10, 50])
    np.testing.assert_array_equal(result.output, compress(words[10:50], Format(words.itemsize * 8)))
    assert result.status[:, 0].tolist() == [0, 40]


def test_no_packets(models):
    result = models["compressor"].run_packets(
        np.array([], models["compressor"].config.format.dtype), [0]
    )
    assert (result.cycles, result.output.size, result.status.shape) == (0, 0, (0, 2))


def test_a_seed_replays_a_run(models):
    words = stimulus.random_words(
        2000, 0.5, models["compressor"].config.format, np.random.default_rng(0)
    )
    runs = [models["compressor"].run(words, "bernoulli:0.5", seed) for seed in (4, 4, 5)]
    assert (runs[0].cycles, runs[0].stalls) == (runs[1].cycles, runs[1].stalls)
    np.testing.assert_array_equal(runs[0].ports["m_axis"], runs[1].ports["m_axis"])
    assert runs[0].cycles != runs[2].cycles
    assert runs[0].cycles > 1.5 * models["compressor"].run(words).cycles


def test_threads_share_a_model(models):
    words = stimulus.random_words(
        50_000, 0.5, models["compressor"].config.format, np.random.default_rng(0)
    )
    results = {}

    def run(seed):
        results[seed] = models["compressor"].run(words, "bernoulli:0.1", seed).cycles

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {
        seed: models["compressor"].run(words, "bernoulli:0.1", seed).cycles for seed in range(4)
    }


def test_design_that_is_not_at_fault_breaks_no_rule(faulty):
    packet = packet_of(0, 5)
    np.testing.assert_array_equal(faulty.run(packet, PAUSE).output, packet)


@pytest.mark.parametrize("fault", FAULTS)
def test_violation_is_reported(faulty, fault):
    with pytest.raises(Violation, match=f"^{re.escape(FAULTS[fault])}$"):
        faulty.run(packet_of(*fault), PAUSE)


@pytest.mark.parametrize("fault", MORE_FAULTS)
def test_what_cocotb_does_not_report_at_once(faulty, fault):
    with pytest.raises(Violation, match=re.escape(MORE_FAULTS[fault])):
        faulty.run(packet_of(*fault), "never")


def test_violations_are_reported_as_under_cocotb():
    scenarios = [Scenario([packet_of(*fault)], PAUSE) for fault in FAULTS]
    results = cosim_all("compressor", scenarios, SMALL, verilog=FAULTY)
    messages = [re.sub(r"tkeep [01]+ ", "tkeep ", result.failure) for result in results]
    assert [text.partition(";")[0] for text in messages] == [
        text.partition(";")[0] for text in FAULTS.values()
    ]


def test_time_is_bounded(faulty):
    with pytest.raises(SimulationError, match=r"^the model was ended after 0 s$"):
        faulty.run(packet_of(0, 1000), seconds=0)


def test_progress_is_reported(models, monkeypatch):
    words = np.zeros(1 << 22, models["compressor"].config.format.dtype)
    messages, clock = [], itertools.count(step=2)
    monkeypatch.setattr(unit.time, "monotonic", lambda: next(clock))  # two seconds at each look
    models["compressor"].run(words, progress=messages.append)
    assert len(messages) > 3
    for text in messages:
        assert re.match(r"cycle [\d,]+: [01] of 1 packets in at s_axis, ", text)


def test_same_design_is_built_once(faulty, monkeypatch):
    monkeypatch.setattr(build, "compile_design", None)
    messages = []
    again = RtlModel("compressor", SMALL.format, 2, verilog=FAULTY, progress=messages.append)
    assert messages == []
    np.testing.assert_array_equal(again.run(packet_of(0, 3)).output, packet_of(0, 3))


@pytest.mark.parametrize(
    ("verilog", "message"),
    [
        ("module cdma_compressor(; endmodule", r"(?s)^verilator cannot translate .*syntax error"),
        ("module cdma_compressor(input aclk); endmodule", r"(?s)^c\+\+ cannot compile .*aresetn"),
    ],
)
def test_failed_build_leaves_nothing(verilog, message):
    for _ in range(2):
        with pytest.raises(SimulationError, match=message):
            RtlModel("compressor", verilog=verilog)


@pytest.mark.parametrize("missing", ["c++", "verilator"])
def test_missing_tool_is_reported(missing, monkeypatch):
    which = simulators.shutil.which
    monkeypatch.setattr(
        simulators.shutil,
        "which",
        lambda name, path=None: None if name == missing else which(name, path=path),
    )
    with pytest.raises(UserError, match=f"^verilator needs {re.escape(missing)}, .*install"):
        RtlModel("compressor")


def test_file_that_is_no_library_is_reported(tmp_path, monkeypatch):
    (tmp_path / "model.so").write_text("nothing")
    monkeypatch.setattr(build, "build", lambda *_, **__: tmp_path / "model.so")
    with pytest.raises(UserError, match=r"model\.so: cannot load this model, delete its folder"):
        RtlModel("compressor")


@pytest.mark.parametrize(
    ("unit", "options", "message"),
    [
        (
            "compressor",
            {"offsets": [0, 5]},
            r"^Offsets of packets must not fall, and lie in 0\.\.4$",
        ),
        ("compressor", {"offsets": [2, 1]}, r"^Offsets of packets must not fall, "),
        ("compressor", {"offsets": []}, r"^Offsets of packets must not fall, "),
        ("compressor", {"counts": [4]}, r"^Word counts are for the decompressor, not for the comp"),
        ("compressor", {"stall": "often"}, r"^Stall profile must be one of "),
        ("decompressor", {}, r"^the decompressor needs the word count of each packet$"),
        (
            "decompressor",
            {"counts": [1, 2]},
            r"^Word counts must be 1 numbers from 0 to 2\*\*32 - 1",
        ),
        ("decompressor", {"counts": [-1]}, r"^Word counts must be "),
    ],
)
def test_mistakes_in_a_run(models, unit, options, message):
    model = models[unit]
    array = np.zeros(4, np.uint8 if unit == "decompressor" else model.config.format.dtype)
    with pytest.raises(UserError, match=message):
        model.run_packets(array, **{"offsets": [0, 4], **options})


def test_words_of_another_width_are_refused(models):
    size = models["compressor"].config.format.word_bytes
    with pytest.raises(ValueError, match=rf"^Element size must be {size} bytes "):
        models["compressor"].run(np.zeros(4, np.uint8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("squeezer",),
            r"^Unit must be one of compressor, decompressor, roundtrip, not 'squeezer'$",
        ),
        (
            ("compressor", Format(), 3),
            r"^Number of lanes must be a power of two in 2\.\.64, not 3$",
        ),
        (("compressor", 32), r"^Format must be a Format, not 32$"),
    ],
)
def test_mistakes_in_a_model(arguments, message):
    with pytest.raises(UserError, match=message):
        RtlModel(*arguments)
