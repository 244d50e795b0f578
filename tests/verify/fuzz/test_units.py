"""The fuzzer: correct units pass, a batch can be replayed from its seed, faults are found."""

import re
from collections import Counter

import numpy as np
import pytest
from sized import sized

from cdma.errors import UserError
from cdma.golden import ErrorCode, salvage
from cdma.hdl.zvc.config import NAMED, Config
from cdma.hdl.zvcplus.config import NAMED as PLUS_NAMED
from cdma.hdl.zvcplus.mixed.config import NAMED as MIXED_NAMED
from cdma.verify.fuzz.play import fuzz
from cdma.verify.fuzz.units import BATCH_PACKETS, make_batch

UNITS = ("compressor", "decompressor", "roundtrip")
CONFIG = Config.of(4, 16)
#: Further sizes, in addition to the named ones.
SIZES = [
    *(CONFIG, Config.of(2, 8, 32), Config.of(8, 32, 96), Config.of(16, 16, 32)),
    *(Config.of(2, 32), Config.of(64, 8), Config.of(4, 64), Config.of(16, 32)),
]


@pytest.mark.parametrize("config", sized([Config.of(8, 32)], [CONFIG]))
@pytest.mark.parametrize("unit", UNITS)
def test_random_packets(unit, config):
    outcome = fuzz(unit, config, 3000, seed=1)
    assert outcome.problem == ""
    assert outcome.failed_batch is None
    if unit == "decompressor":
        assert outcome.malformed >= 3000
        assert outcome.packets > 1.3 * outcome.malformed
        assert all(outcome.codes[code.name] > 100 for code in list(ErrorCode)[:4])
    else:
        assert outcome.packets == 3000


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_million_packets(unit):
    outcome = fuzz(unit, Config.of(8, 32), 1_000_000, seed=2)
    assert outcome.problem == ""
    assert (outcome.malformed if unit == "decompressor" else outcome.packets) >= 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("config", [*NAMED.values(), *SIZES], ids=lambda config: config.name)
@pytest.mark.parametrize("unit", UNITS)
def test_random_packets_of_every_size(unit, config):
    assert fuzz(unit, config, 20_000, seed=3).problem == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["4x8b16-ones", "4x8b16-z80", "4x8b16-ones-zport-asic", "4x16-fold", "4x16-asic"]
)
@pytest.mark.parametrize("unit", UNITS)
def test_random_packets_of_every_option(unit, name):
    """Tail, zero value, sign of zeros, and the target of the generator."""
    assert fuzz(unit, Config.parse(name), 4000).problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("config", PLUS_NAMED.values(), ids=lambda config: config.name)
@pytest.mark.parametrize("unit", UNITS)
def test_random_packets_of_zvcplus(unit, config):
    outcome = fuzz(unit, config, 10_000, seed=4)
    assert outcome.problem == ""
    if unit == "decompressor":
        codes = {code.name for code in config.error_codes}
        assert set(outcome.codes) == codes
        assert all(outcome.codes[code] > 100 for code in codes)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_random_packets_of_several_types(unit):
    config = MIXED_NAMED["zvcplus-fp32+bf16"]
    outcome = fuzz(unit, config, 10_000, seed=5)
    assert outcome.problem == ""
    if unit == "decompressor":
        assert set(outcome.codes) == {code.name for code in config.error_codes}


def test_batches_of_several_types_have_every_type_and_numbers_of_none():
    config = MIXED_NAMED["zvcplus-all"]
    batch = make_batch("decompressor", config, 0, 0)
    assert {packet.type for packet in batch.scenario.packets} == {0, 1, 2, 3, 4, 255}
    assert {kind.split(", type ")[1] for kind in batch.kinds} == {"0", "1", "2", "3", "4", "255"}
    assert make_batch("compressor", config, 0, 1) != make_batch("compressor", config, 0, 2)


def test_a_batch_is_made_from_its_seed_and_number_alone():
    first, again, other, another = (
        make_batch("decompressor", CONFIG, seed, number)
        for seed, number in ((5, 2), (5, 2), (5, 3), (6, 2))
    )
    assert first == again
    assert len({repr(batch) for batch in (first, other, another)}) == 3


def test_batches_are_of_every_kind():
    batches = [make_batch("decompressor", CONFIG, 0, number) for number in range(40)]
    scenarios = [batch.scenario for batch in batches]
    assert {scenario.is_dirty for scenario in scenarios} == {True, False}
    assert {scenario.reset_at is None for scenario in scenarios} == {True, False}
    assert {isinstance(scenario.stall, str) for scenario in scenarios} == {True, False}
    kinds = Counter(kind for batch in batches for kind in batch.kinds)
    damages = kinds.total() - kinds["good"]
    assert damages == len(batches) * BATCH_PACKETS
    assert len(kinds) == 8
    assert min(kinds.values()) > damages / 20


def test_damage_is_found_by_the_golden_model():
    batch = make_batch("decompressor", CONFIG, 0, 0)
    codes = {kind: Counter() for kind in batch.kinds}
    for (stream, count), kind in zip(batch.scenario.packets, batch.kinds, strict=True):
        codes[kind][salvage(np.frombuffer(stream, np.uint8), count, CONFIG.format)[2]] += 1
    assert set(codes.pop("good")) == {ErrorCode.NONE}
    for kind, found in codes.items():
        assert found[ErrorCode.NONE] < 0.5 * found.total(), kind
    assert codes["truncated"][ErrorCode.TRUNCATED] > 0.8 * codes["truncated"].total()
    assert codes["extended"][ErrorCode.TRAILING] > 0.8 * codes["extended"].total()
    assert codes["marked"][ErrorCode.MASK_PAST_END] > 0.4 * codes["marked"].total()


def test_streams_are_ragged_too():
    batch = make_batch("decompressor", CONFIG, 0, 0)
    size = CONFIG.format.word_bytes
    assert any(len(stream) % size for stream, _ in batch.scenario.packets)


@pytest.mark.parametrize(
    ("unit", "port", "fault", "message"),
    [
        pytest.param(
            "decompressor",
            "m_axis_sts_tdata",
            "x & ~(40'd2 << 32)",  # the error code loses a bit
            r"batch \d+ \(seed \d+\): packet \d+: status is \d+, [01], expected \d+, [23] "
            r"\(packet \d+: \w+, \d+ bytes, \d+ words\)",
            marks=pytest.mark.slow,
        ),
        (
            "compressor",
            "m_axis_tdata",
            "x & ~(64'd1 << 31)",
            r"batch 0 \(seed \d+\): packet \d+: byte \d+ \(cycle \d+, beat \d+, block \d+, .*\) is "
            r"0x\w\w, expected 0x\w\w; .* \(packet \d+: good, \d+ words\)",
        ),
        pytest.param(
            "decompressor",
            "m_axis_sts_tvalid",
            "x & 1'b0",
            r"batch 0 \(seed \d+\): hangs: no handshake since cycle \d+; .* "
            r"0 of \d+ packets out at m_axis_sts \(packet 0: \w+, \d+ bytes, \d+ words\)",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["error code", "data", "hang"],
)
def test_fault_is_found_and_replayed(spoiled, unit, port, fault, message):
    verilog = spoiled(unit, CONFIG, port, fault)
    outcome = fuzz(unit, CONFIG, 5000, seed=4, verilog=verilog)
    assert re.fullmatch(f"{unit} 4x16, {message}", outcome.problem), outcome.problem
    again = fuzz(unit, CONFIG, 5000, seed=4, batch=outcome.failed_batch, verilog=verilog)
    assert (again.problem, again.batches) == (outcome.problem, 1)
    assert again.failed_batch == outcome.failed_batch


def test_unknown_unit_is_refused():
    with pytest.raises(UserError, match=r"^Unit must be one of compressor, "):
        fuzz("squeezer", CONFIG, 1)
