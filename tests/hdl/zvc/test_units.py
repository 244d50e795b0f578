"""What both units promise as components: latency, registers, statuses, and golden packets."""

import numpy as np
import pytest
from sized import sized

from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import NAMED, Config
from cdma.hdl.zvc.decompressor.fetch import fetcher_of
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.sim.stimulus import random_words

QUICK = [
    NAMED["8x32"],
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(4, 8, 24),  # blocks that are no power of two
    *map(Config.parse, ("8x32-asic", "2x8b32-asic")),
]
SLOW = [
    Config.of(4, 8, 32),  # a mask of a beat
    Config.of(4, 64),
    Config.of(8, 32, 64),  # a mask of two words
    *(NAMED[name] for name in ("16x16", "32x8", "32x32")),
    Config.of(64, 8, 64),  # a block a beat
    *map(Config.parse, ("4x8b24-asic", "16x16-asic", "32x8-asic", "32x32-asic", "64x8b64-asic")),
]
EVERY = pytest.mark.parametrize("config", sized(QUICK, SLOW))
SMALL = [Config.of(2, 8, 32), Config.of(8, 8, 8), Config.parse("2x8b32-asic")]
SOME = pytest.mark.parametrize(
    "config", sized(SMALL, [Config.of(4, 16), Config.parse("4x16-asic")])
)
UNIT = pytest.mark.parametrize("unit", [Compressor, Decompressor], ids=lambda unit: unit.__name__)


def latency(passed):
    """Cycles from the first beat in to the first beat out, both included."""
    return passed["o"].cycles[0] - passed["i"].cycles[0] + 1


@EVERY
@UNIT
def test_latency_is_what_is_measured(run_unit, case, rng, unit, config):
    """Of a compressor's dense block, all of which the first beat waits for, and of a
    decompressor's block of zeros, whose first words, namely none, are there with the mask."""
    density = float(unit is Compressor)
    words = random_words(2 * config.format.block_words, density, config.format, rng)
    passed = run_unit(unit, [case.of(unit, words, config)], config)
    spare = unit is Decompressor and fetcher_of(config).sees_arrivals(config)
    assert latency(passed) == unit.latency(config) - spare


@SOME
@UNIT
def test_an_empty_packet_takes_no_longer(run_unit, case, unit, config):
    words = np.zeros(0, config.format.dtype)
    passed = run_unit(unit, [case.of(unit, words, config)], config)
    assert passed["o"].payloads[0]["keep"] == 0
    assert latency(passed) <= unit.latency(config)


@SOME
@UNIT
def test_packets_of_zeros_lose_no_cycle(run_unit, case, unit, config):
    words = np.zeros(4 * config.format.block_words, config.format.dtype)
    passed = run_unit(unit, [case.of(unit, words, config)] * 2, config)
    data_side = passed["i" if unit is Compressor else "o"]
    assert np.diff(data_side.cycles).tolist() == [1] * (8 * config.block_beats - 1)


@SOME
@pytest.mark.parametrize(
    "stalls",
    ["bernoulli:0.5", {"o": "bursts:3,9"}, {"i": "alternating"}],
    ids=str,
)
@UNIT
def test_packets_are_golden(run_unit, case, rng, unit, config, stalls):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, lanes, block, 0, block + 1, 3 * block - 1, 1, 1, 2 * block, lanes + 1]
    packets = [random_words(count, rng.random(), config.format, rng) for count in counts]
    cases = [case.of(unit, words, config) for words in packets]
    run_unit(unit, cases, config, stalls=stalls)


@SOME
@UNIT
def test_statuses_that_are_not_taken_hold_packets_back(run_unit, case, rng, unit, config):
    words = [random_words(1, 1.0, config.format, rng) for _ in range(12)]
    cases = [case.of(unit, packet, config) for packet in words]
    passed = run_unit(unit, cases, config, stalls={"o_status": "paused:200"})
    beats = zip(passed["o"].cycles, passed["o"].payloads, strict=True)
    lasts = [cycle for cycle, beat in beats if beat["last"]]
    # Two statuses wait in the queue, one where it is made; then nothing leaves.
    assert sum(cycle < 200 for cycle in lasts) == 3
    for taken, cycle in zip(passed["o_status"].cycles, lasts, strict=True):
        assert taken > cycle


@SOME
@UNIT
def test_ready_and_the_output_come_from_registers(simulate, cut, case, beats_of, rng, unit, config):
    """Nothing that a neighbour does within a cycle shows at the ports in that cycle."""
    dut, fmt = unit(config), config.format
    item = case.of(unit, random_words(20 * fmt.block_words, 0.6, fmt, rng), config)
    beats = beats_of(item.sent, config)

    async def bench(ctx):
        met, sent = set(), 0
        if unit is Decompressor:
            ctx.set(dut.i_command.valid, 1)
            ctx.set(dut.i_command.payload, {"words": item.command})
        ctx.set(dut.i.valid, 1)
        for cycle in range(150):
            ctx.set(dut.i.payload, beats[sent % len(beats)])
            ctx.set(dut.o.ready, bool(rng.random() < (0.1 if cycle < 100 else 0.9)))
            ctx.set(dut.o_status.ready, bool(rng.integers(2)))
            inputs = [dut.i.valid, dut.i.payload, dut.o.ready, dut.o_status.ready]
            outputs = [dut.i.ready, dut.o.valid, dut.o.payload]
            outputs += [dut.o_status.valid, dut.o_status.payload]
            if unit is Decompressor:
                inputs += [dut.i_command.valid, dut.i_command.payload]
                outputs += [dut.i_command.ready]
            cut(ctx, inputs, outputs)
            ready = ctx.get(dut.i.ready)
            met.add((ready, ctx.get(dut.o.valid)))
            sent += ready
            await ctx.tick()
        return met

    assert {(1, 0), (1, 1), (0, 1)} <= simulate(dut, bench)
