"""The compressor as a component: latency, registers, statuses, and its stream."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.compressor import Compressor
from cdma.hdl.config import NAMED, Config
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


def streams_of(beats, config):
    """Bytes of each packet, as they were kept; what is not kept must be zero."""
    packets, current = [], b""
    for beat in beats:
        width = beat["keep"].bit_length()
        assert beat["keep"] == (1 << width) - 1, "bytes are not contiguous from byte 0"
        content = np.array(beat["words"], config.format.dtype).tobytes()
        assert not any(content[width:])
        assert beat["last"] or width == len(content), "a partial beat inside a packet"
        current += content[:width]
        if beat["last"]:
            packets.append(current)
            current = b""
    assert current == b"", "a packet did not end"
    return packets


def beats_of(words, config):
    """Beats of a packet of words; the lanes behind its end carry rubbish."""
    beats = []
    rubbish = (1 << config.format.word_bits) - 1
    for first in range(0, max(words.size, 1), config.lanes):
        part = words[first : first + config.lanes].tolist()
        keep = (1 << len(part) * config.format.word_bytes) - 1
        padding = [rubbish] * (config.lanes - len(part))
        last = first + config.lanes >= words.size
        beats.append({"words": part + padding, "keep": keep, "last": last})
    return beats


def output_beats(words, config):
    return max(1, -(-compress(words, config.format).size // config.beat_bytes))


def run(exchange, packets, config, **options):
    """Send packets of words, give the transfers; output and statuses are compared with golden."""
    beats = [beat for words in packets for beat in beats_of(words, config)]
    owed = {
        "o": sum(output_beats(words, config) for words in packets),
        "o_status": len(packets),
    }
    passed = exchange(Compressor(config), {"i": beats}, owed, **options)
    streams = [compress(words, config.format).tobytes() for words in packets]
    assert streams_of(passed["o"].payloads, config) == streams
    assert passed["o_status"].payloads == [
        {"words": words.size, "bytes": len(content)}
        for words, content in zip(packets, streams, strict=True)
    ]
    return passed


@EVERY
def test_latency_is_what_is_measured(exchange, rng, config):
    """The first beat leaves as soon as the first block is whole, if all of it is needed."""
    words = random_words(2 * config.format.block_words, 1.0, config.format, rng)
    passed = run(exchange, [words], config)
    first_in, first_out = passed["i"].cycles[0], passed["o"].cycles[0]
    assert first_out - first_in + 1 == Compressor.latency(config)


@SOME
def test_an_empty_packet_takes_no_longer(exchange, config):
    passed = run(exchange, [np.zeros(0, config.format.dtype)], config)
    assert passed["o"].payloads[0]["keep"] == 0
    assert passed["o"].cycles[0] - passed["i"].cycles[0] + 1 <= Compressor.latency(config)


@SOME
def test_packets_of_zeros_lose_no_cycle(exchange, config):
    packets = [np.zeros(4 * config.format.block_words, config.format.dtype)] * 2
    cycles = run(exchange, packets, config)["i"].cycles
    assert np.diff(cycles).tolist() == [1] * (8 * config.block_beats - 1)


@SOME
@pytest.mark.parametrize("stalls", ["bernoulli:0.5", {"o": "bursts:3,9"}, {"i": "alternating"}])
def test_streams_are_golden(exchange, rng, config, stalls):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, lanes, block, 0, block + 1, 3 * block - 1, 1, 1, 2 * block, lanes + 1]
    packets = [random_words(count, rng.random(), config.format, rng) for count in counts]
    run(exchange, packets, config, stalls=stalls)


@SOME
def test_statuses_that_are_not_taken_hold_packets_back(exchange, rng, config):
    packets = [random_words(1, 1.0, config.format, rng) for _ in range(40)]
    passed = run(exchange, packets, config, stalls={"o_status": "paused:200"})
    lasts = [
        cycle
        for cycle, beat in zip(passed["o"].cycles, passed["o"].payloads, strict=True)
        if beat["last"]
    ]
    before = sum(cycle < 200 for cycle in lasts)
    assert 0 < before < len(packets)
    for taken, cycle in zip(passed["o_status"].cycles, lasts, strict=True):
        assert taken > cycle


@SOME
def test_ready_and_the_output_beat_come_from_registers(simulate, cut, rng, config):
    unit = Compressor(config)

    async def bench(ctx):
        met = set()
        for cycle in range(150):
            words = random_words(config.lanes, 0.7, config.format, rng)
            beat = beats_of(words, config)[0] | {"last": bool(rng.random() < 0.1)}
            ctx.set(unit.i.payload, beat)
            ctx.set(unit.i.valid, 1)
            ctx.set(unit.o.ready, bool(rng.random() < (0.1 if cycle < 100 else 0.9)))
            ctx.set(unit.o_status.ready, bool(rng.integers(2)))
            inputs = [unit.i.valid, unit.i.payload, unit.o.ready, unit.o_status.ready]
            cut(ctx, inputs, [unit.i.ready, unit.o.valid, unit.o.payload])
            met.add((ctx.get(unit.i.ready), ctx.get(unit.o.valid)))
            await ctx.tick()
        return met

    assert {(1, 0), (1, 1), (0, 1)} <= simulate(unit, bench)


def test_the_lowest_byte_decides_whether_a_word_is_kept(exchange):
    config = Config.of(2, 32)
    beat = {"words": [5, 7], "keep": 0b0001_1111, "last": 1}
    passed = exchange(Compressor(config), {"i": [beat]}, {"o": 2, "o_status": 1})
    assert streams_of(passed["o"].payloads, config) == [bytes([3, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0])]
    assert passed["o_status"].payloads == [{"words": 2, "bytes": 12}]


@EVERY
def test_figures_need_no_unit(config):
    assert Compressor.rows(config).bit_count() == 1
    assert Compressor.rows(config) * config.lanes > config.format.block_words
    assert Compressor.mask_writes(config) == max(1, config.format.mask_words // config.lanes)
    assert Compressor.latency(config) > config.block_beats + Compressor.commit_delay(config)
