"""The decompressor as a component: latency, registers, statuses, and its words."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.golden.format import ErrorCode
from cdma.hdl.config import NAMED, Config
from cdma.hdl.decompressor import Decompressor
from cdma.sim.stimulus import random_words

CONFIGS = [
    *NAMED.values(),
    Config.of(2, 8),
    Config.of(4, 16),
    Config.of(4, 64),
    Config.of(2, 8, 64),
]
EVERY = pytest.mark.parametrize("config", CONFIGS, ids=[config.name for config in CONFIGS])
SMALL = [Config.of(4, 16), Config.of(2, 8)]
SOME = pytest.mark.parametrize("config", SMALL, ids=[config.name for config in SMALL])


def beats_of(content, config):
    """Beats of a packet of bytes; the bytes behind its end are rubbish."""
    beats, size = [], config.beat_bytes
    for first in range(0, max(len(content), 1), size):
        part = content[first : first + size]
        words = np.frombuffer(part.ljust(size, b"\xff"), config.format.dtype).tolist()
        last = first + size >= len(content)
        beats.append({"words": words, "keep": (1 << len(part)) - 1, "last": last})
    return beats


def words_of(beats, config):
    """Words of each packet, as they were kept; what is not kept must be zero."""
    packets, current = [], []
    size = config.format.word_bytes
    for beat in beats:
        kept = beat["keep"].bit_length() // size
        assert beat["keep"] == (1 << kept * size) - 1
        assert not any(beat["words"][kept:])
        assert beat["last"] or kept == config.lanes, "a partial beat inside a packet"
        current += beat["words"][:kept]
        if beat["last"]:
            packets.append(current)
            current = []
    assert not current, "a packet did not end"
    return packets


def golden(words, config):
    """Stream, count, words and status of a packet."""
    content = compress(words, config.format).tobytes()
    status = {"bytes": len(content), "error": ErrorCode.NONE}
    return content, words.size, words.tolist(), status


def run(exchange, cases, config, **options):
    """Send streams with their counts and compare words and statuses; give the transfers."""
    beats = [beat for content, *_ in cases for beat in beats_of(content, config)]
    commands = [{"words": count} for _, count, *_ in cases]
    owed = {
        "o": sum(max(1, -(-count // config.lanes)) for _, count, *_ in cases),
        "o_status": len(cases),
    }
    sends = {"i_command": commands, "i": beats}
    passed = exchange(Decompressor(config), sends, owed, **options)
    assert words_of(passed["o"].payloads, config) == [words for _, _, words, _ in cases]
    assert passed["o_status"].payloads == [status for *_, status in cases]
    return passed


def first_beat(passed):
    """Cycles from the first beat in to the first beat out, both included."""
    return passed["o"].cycles[0] - passed["i"].cycles[0] + 1


@EVERY
def test_latency_is_what_is_measured(exchange, config):
    """A block of zeros has its first words, namely none, as soon as its mask is in."""
    words = np.zeros(2 * config.format.block_words, config.format.dtype)
    assert first_beat(run(exchange, [golden(words, config)], config)) == Decompressor.latency(
        config
    )


@SOME
def test_an_empty_packet_takes_no_longer(exchange, config):
    passed = run(exchange, [golden(np.zeros(0, config.format.dtype), config)], config)
    assert passed["o"].payloads[0]["keep"] == 0
    assert first_beat(passed) <= Decompressor.latency(config)


@SOME
def test_packets_of_zeros_lose_no_cycle(exchange, config):
    cases = [golden(np.zeros(4 * config.format.block_words, config.format.dtype), config)] * 2
    cycles = run(exchange, cases, config)["o"].cycles
    assert np.diff(cycles).tolist() == [1] * (8 * config.block_beats - 1)


@SOME
@pytest.mark.parametrize(
    "stalls",
    ["bernoulli:0.5", {"o": "bursts:3,9"}, {"i": "alternating"}, {"i_command": "paused:90"}],
)
def test_words_are_golden(exchange, rng, config, stalls):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, lanes, block, 0, block + 1, 3 * block - 1, 1, 1, 2 * block, lanes + 1]
    packets = [random_words(count, rng.random(), config.format, rng) for count in counts]
    run(exchange, [golden(words, config) for words in packets], config, stalls=stalls)


@SOME
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_errors_do_not_outlive_their_packet(exchange, rng, config, stalls):
    fmt = config.format
    good = golden(random_words(fmt.block_words + 3, 0.5, fmt, rng), config)
    words = random_words(2, 1.0, fmt, rng)
    content, count, given, _ = golden(words, config)
    mask_bytes = fmt.mask_bytes
    past_end = bytes([content[0] | 8]) + content[1:]
    cases = [
        (content[:-1], count, [given[0], 0], {"bytes": 0, "error": ErrorCode.TRUNCATED}),
        (b"", count, [0, 0], {"bytes": 0, "error": ErrorCode.TRUNCATED}),
        (content + b"\0", count, given, {"bytes": len(content), "error": ErrorCode.TRAILING}),
        (past_end, count, given, {"bytes": 0, "error": ErrorCode.MASK_PAST_END}),
        (content, 0, [], {"bytes": 0, "error": ErrorCode.TRAILING}),
        (content[: mask_bytes - 1], count, [0, 0], {"bytes": 0, "error": ErrorCode.TRUNCATED}),
    ]
    run(exchange, [case for bad in cases for case in (bad, good)], config, stalls=stalls)


@SOME
def test_statuses_that_are_not_taken_hold_packets_back(exchange, rng, config):
    cases = [golden(random_words(1, 1.0, config.format, rng), config) for _ in range(60)]
    passed = run(exchange, cases, config, stalls={"o_status": "paused:200"})
    before = sum(cycle < 200 for cycle in passed["o"].cycles)
    assert 0 < before < len(cases)
    for taken, cycle in zip(passed["o_status"].cycles, passed["o"].cycles, strict=True):
        assert taken > cycle


@SOME
def test_ready_and_the_output_beat_come_from_registers(simulate, cut, rng, config):
    unit = Decompressor(config)
    fmt = config.format
    cases = [golden(random_words(3 * fmt.block_words, 0.6, fmt, rng), config) for _ in range(9)]
    beats = [beat for content, *_ in cases for beat in beats_of(content, config)]

    async def bench(ctx):
        met, sent = set(), 0
        ctx.set(unit.i_command.valid, 1)
        ctx.set(unit.i_command.payload, {"words": cases[0][1]})
        ctx.set(unit.i.valid, 1)
        for cycle in range(150):
            ctx.set(unit.i.payload, beats[sent])
            ctx.set(unit.o.ready, bool(rng.random() < (0.1 if cycle < 100 else 0.9)))
            ctx.set(unit.o_status.ready, bool(rng.integers(2)))
            inputs = [unit.i.valid, unit.i.payload, unit.o.ready, unit.o_status.ready]
            cut(ctx, inputs, [unit.i.ready, unit.o.valid, unit.o.payload])
            ready = ctx.get(unit.i.ready)
            met.add((ready, ctx.get(unit.o.valid)))
            sent += ready
            await ctx.tick()
        return met

    assert {(1, 0), (1, 1), (0, 1)} <= simulate(unit, bench)


@EVERY
def test_figures_need_no_unit(config):
    rows = Decompressor.rows(config)
    assert rows.bit_count() == 1
    assert (rows - 1) * config.lanes >= config.format.block_words + config.format.mask_words
    assert Decompressor.latency(config) > -(-config.format.mask_words // config.lanes)
