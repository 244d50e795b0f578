"""The Verilog of ZVC+: packets, malformed streams, resets, both simulators, sample tensors."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.zvcplus.salvage import salvage
from cdma.hdl import emit
from cdma.hdl.zvcplus.config import NAMED
from cdma.sim import RtlModel, Scenario, stimulus
from cdma.sim.throughput import packet_beats
from cdma.zvcplus import ErrorCode

pytestmark = pytest.mark.slow
DATA = os.environ.get("CDMA_DATA")
CONFIGS = pytest.mark.parametrize("config", NAMED.values(), ids=lambda config: config.name)
UNITS = pytest.mark.parametrize("unit", ["compressor", "decompressor", "roundtrip"])
FP32 = NAMED["zvcplus-fp32"]
#: Errors of units without repeats, and none.
LOOKED_FOR = {
    ErrorCode.NONE,
    ErrorCode.TRUNCATED,
    ErrorCode.TRAILING,
    ErrorCode.MASK_PAST_END,
    ErrorCode.RESERVED,
    ErrorCode.TOO_LONG,
}
STALLS = ["never", "bernoulli:0.4", {"sink": "bursts:4,9"}, {"status": "always-but-one:9"}]


def fed(unit, config, seed, count=None):
    """Packets for a unit; a roundtrip takes words, as the compressor."""
    first = "compressor" if unit == "roundtrip" else unit
    return stimulus.fed(first, stimulus.packets(config, seed)[:count], config)


def _bytes(packet):
    """Size of a packet of words, or of a stream with its number of words."""
    return len(packet[0]) if isinstance(packet, tuple) else packet.nbytes


def _each_error(config):
    """The shortest malformed packet of each error, with the right packet behind it."""
    packets = stimulus.malformed(config, np.random.default_rng(4))
    pairs = zip(packets[::2], packets[1::2], strict=True)
    found = {}
    for wrong, good in sorted(pairs, key=lambda pair: _bytes(pair[0])):
        _, _, code = salvage(*wrong, config.format)
        found.setdefault(code, [wrong, good])
    assert set(found) == LOOKED_FOR
    return [packet for pair in found.values() for packet in pair]


@UNITS
@CONFIGS
def test_packets_under_back_pressure(verify, unit, config):
    scenarios = [
        Scenario(fed(unit, config, seed), stall, seed, str(stall), is_dirty=seed % 2 == 1)
        for seed, stall in enumerate(STALLS)
    ]
    verify(unit, scenarios, config, simulator="fast")


@UNITS
@pytest.mark.parametrize(("simulator", "count"), [("verilator", 30), ("icarus", 6)])
def test_under_cocotb(request, verify, unit, simulator, count):
    """Fewer packets in Icarus Verilog, which needs minutes for a thousand cycles of wide rows."""
    if simulator == "icarus":
        request.getfixturevalue("icarus")
    packets = sorted(fed(unit, FP32, seed=5, count=30), key=_bytes)[:count]
    if unit == "decompressor":
        packets += _each_error(FP32)
        packets += stimulus.malformed(FP32, np.random.default_rng(4))[::9] if count > 6 else []
    scenarios = [Scenario(packets), Scenario(packets, "bernoulli:0.3", 7, is_dirty=True)]
    verify(unit, scenarios, FP32, simulator=simulator)


@CONFIGS
@pytest.mark.parametrize("stall", STALLS[:3], ids=str)
def test_malformed_streams_end_and_the_next_is_decoded(verify, config, stall):
    packets = stimulus.malformed(config, np.random.default_rng(3))
    scenario = Scenario(packets, stall, seed=3, is_dirty=True)
    (result,) = verify("decompressor", [scenario], config, simulator="fast")
    counted = {ErrorCode.COUNT} if config.has_repeats else set()
    assert {packet.status[1] for packet in result.packets} == LOOKED_FOR | counted


@pytest.mark.parametrize("width", [16, 17])
def test_offsets_that_are_longer_than_exponents_do_not_hang(verify, width):
    """fp16, dense and wide blocks with k = 6: words of 17 bits would not fit the lanes."""
    config, rng, blocks = NAMED["zvcplus-fp16"], np.random.default_rng(1), 60
    control = (3 | 6 << 2 | 3 << 5 | 6 << 8, 11)  # extended, dense and wide, the same base, k = 6
    size = config.word.block_words * width
    fields = [control]
    for number in range(blocks):
        fields += [control] if number + 1 < blocks else []
        fields.append((int.from_bytes(rng.bytes(size // 8), "little"), size))
    stream = at = 0
    for value, bits in fields:
        stream, at = stream | value << at, at + bits
    wrong = (stream.to_bytes(-(-at // 8), "little"), config.word.block_words * blocks)
    packets = [wrong, *fed("decompressor", config, seed=1, count=3)]
    verify("decompressor", [Scenario(packets)], config, simulator="fast")


@pytest.mark.parametrize("type_", ["fp32", "bf16"])
@pytest.mark.parametrize(
    ("sent", "is_repeated"), [(0, True), (0.5, True), (0.5, False), (1, False)]
)
def test_many_wrong_numbers_of_repeats_do_not_hang(verify, type_, sent, is_repeated):
    """Dense blocks: a share of the words is sent as repeated, and behind six right blocks all are
    marked so, or none. Their payloads are up to four rows longer or shorter than their words."""
    config, rng, blocks = NAMED[f"zvcplus-{type_}-left"], np.random.default_rng(2), 60
    word, count = config.word, config.word.block_words
    repeats = max(1, int(sent * count))
    # Extended, dense, with repeats, the same base, k = 0.
    control = [(3, 2), (2, 3), (1, 1), (3, 3), (0, 3), (repeats - 1, word.count_bits)]
    rest = (count - repeats) * word.mantissa
    fields = list(control)
    for number in range(blocks):
        fields += control if number + 1 < blocks else []
        marked = repeats if number < 6 else is_repeated * count
        fields.append(((1 << marked) - 1, count))
        fields.append((int.from_bytes(rng.bytes(rest // 8 + 1), "little") & (1 << rest) - 1, rest))
    stream = at = 0
    for value, bits in fields:
        stream, at = stream | value << at, at + bits
    wrong = (stream.to_bytes(-(-at // 8), "little"), count * blocks)
    packets = [*fed("decompressor", config, seed=1, count=2), wrong]
    packets += [wrong, *fed("decompressor", config, seed=1, count=3)]
    for stall in ("never", "bernoulli:0.4", {"sink": "bursts:4,9"}):
        verify("decompressor", [Scenario(packets, stall, seed=2)], config, simulator="fast")


@pytest.mark.parametrize("length", [0, 129, 640, 1023])
def test_many_wrong_lengths_do_not_hang(verify, length):
    """Dense blocks of int8, of which every other word is repeated: 640 bits. Behind six right
    blocks, lengths say more or less, or all are repeated, or none. Their payloads are up to four
    rows longer or shorter than their words."""
    config, rng, blocks = NAMED["zvcplus-int8-left"], np.random.default_rng(2), 60
    count = config.word.block_words
    stream = at = 0

    def send(value, bits):
        nonlocal stream, at
        stream, at = stream | (value & (1 << bits) - 1) << at, at + bits

    def control(number):
        # Wide and dense, with repeats, groups of 32 words of 8 bits, and the length.
        send(3 | 6 << 2 | 1 << 5 | 0xFFF << 7, 19)
        send(640 if number < 6 else length, 10)

    control(0)
    for number in range(blocks):
        if number + 1 < blocks:
            control(number + 1)
        marked = int("01" * (count // 2), 2)
        if number >= 6:
            marked = [marked, 0, (1 << count) - 1][number % 3]
        size = 640 if number < 6 else length
        payload = marked | int.from_bytes(rng.bytes(128), "little") << count
        send(payload, size)
    wrong = (stream.to_bytes(-(-at // 8), "little"), count * blocks)
    packets = [*fed("decompressor", config, seed=1, count=2), wrong]
    packets += [wrong, *fed("decompressor", config, seed=1, count=3)]
    for stall in ("never", "bernoulli:0.4", {"sink": "bursts:4,9"}):
        verify("decompressor", [Scenario(packets, stall, seed=2)], config, simulator="fast")


@pytest.mark.parametrize("name", ["zvcplus-fp32", "zvcplus-fp32-left", "zvcplus-int8-left"])
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_reset_in_any_cycle(verify, unit, name):
    config = NAMED[name]
    packets = fed(unit, config, seed=6, count=12)
    if unit == "decompressor":
        packets = stimulus.malformed(config, np.random.default_rng(6))[:8] + packets
    scenarios = [
        Scenario(packets, "bernoulli:0.2", at, f"reset at {at}", reset_at=at, is_dirty=at % 2 == 0)
        for at in range(1, 120)
    ]
    verify(unit, scenarios, config, simulator="fast")


def entries():
    listed = json.loads((Path(DATA) / "zvcplus.json").read_text())["streams"]
    tensors = json.loads((Path(DATA) / "manifest.json").read_text())["tensors"]
    places = {entry["name"]: (entry["file"], entry["key"]) for entry in tensors}
    return [(entry, *places[entry["name"]]) for entry in listed]


@pytest.mark.skipif(not DATA, reason="CDMA_DATA names no folder of sample tensors")
@CONFIGS
def test_sample_tensors(config):
    """Each tensor through both units alone: the listed stream and the words, bit for bit, in the
    beats of the slower side of each block and the latency."""
    fmt, seen, archives = config.format, 0, {}
    models = {unit: RtlModel(unit, fmt) for unit in ("compressor", "decompressor")}
    for entry, file, key in entries():
        if entry["type"] != config.type:
            continue
        archives.setdefault(file, np.load(Path(DATA) / file))
        words = archives[file][key].reshape(-1).view(fmt.dtype)
        most = packet_beats(words, config)
        sent = models["compressor"].run(words)
        stream = sent.output
        assert hashlib.sha256(stream).hexdigest() == entry[config.repeats]["sha256"], entry["name"]
        back = models["decompressor"].run(stream, count=words.size)
        assert back.output.tobytes() == words.tobytes(), entry["name"]
        assert back.status.tolist() == [[stream.size, 0]]
        for unit, found in (("compressor", sent), ("decompressor", back)):
            latency = emit.latency(unit, config)
            assert found.cycles <= most + latency, (unit, entry["name"])
        seen += 1
    assert seen > 10
