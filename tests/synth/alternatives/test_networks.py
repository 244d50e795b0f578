"""Every network gives the results of the units' butterfly. Multiplexers route by their controls."""

import itertools

import numpy as np
import pytest
from amaranth.sim import Simulator

from cdma.synth.alternatives import networks

WORD_BITS = 8
ALL = [
    networks.Crossbar,
    networks.ShiftRotate,
    networks.RegisteredShiftRotate,
    networks.TaggedButterfly,
    networks.RoutedButterfly,
]


def cases(lanes: int):
    """Every mask and offset of 2 and 4 lanes, random ones of 8."""
    if lanes <= 4:
        return list(itertools.product(range(1 << lanes), range(lanes)))
    random = np.random.default_rng(1)
    return [(int(random.integers(1 << lanes)), int(random.integers(lanes))) for _ in range(300)]


def expected(words, mask, offset):
    """Bank by bank: the marked words, from ``offset`` on, zero elsewhere."""
    banks = [0] * len(words)
    for rank, lane in enumerate(lane for lane in range(len(words)) if mask >> lane & 1):
        banks[(offset + rank) % len(words)] = words[lane]
    return banks


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("make", ALL)
def test_marked_words_go_to_consecutive_banks(make, lanes):
    network = make(lanes, WORD_BITS)
    random = np.random.default_rng(lanes)
    owed = []

    async def bench(ctx):
        for mask, offset in [*cases(lanes), *[(0, 0)] * network.latency]:
            words = random.integers(1, 1 << WORD_BITS, lanes).tolist()
            ctx.set(network.words, words)
            ctx.set(network.mask, mask)
            ctx.set(
                network.ranks, [(mask & (1 << n) - 1).bit_count() % lanes for n in range(lanes)]
            )
            ctx.set(network.offset, offset)
            owed.append(expected(words, mask, offset))
            await ctx.tick()
            if len(owed) >= network.latency:
                banks = [ctx.get(network.bank_words[bank]) for bank in range(lanes)]
                assert banks == owed[len(owed) - network.latency]

    simulator = Simulator(network)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_switches_alone_follow_their_controls():
    lanes = 8
    network = networks.BareSwitches(lanes, WORD_BITS)
    random = np.random.default_rng(2)

    async def bench(ctx):
        for _ in range(50):
            words = random.integers(1, 1 << WORD_BITS, lanes).tolist()
            crosses = random.integers(0, 1 << lanes // 2, 3).tolist()
            ctx.set(network.words, words)
            ctx.set(network.crosses, crosses)
            await ctx.delay(1e-6)
            for level, cross in enumerate(crosses):
                lower = [lane for lane in range(lanes) if not lane >> level & 1]
                for switch, lane in enumerate(lower):
                    if cross >> switch & 1:
                        other = lane | 1 << level
                        words[lane], words[other] = words[other], words[lane]
            assert [ctx.get(network.bank_words[bank]) for bank in range(lanes)] == words

    simulator = Simulator(network)
    simulator.add_testbench(bench)
    simulator.run()
