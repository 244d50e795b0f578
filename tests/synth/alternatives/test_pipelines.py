"""Every way to stall keeps the order and loses nothing, and none costs a cycle that it need not."""

import itertools

import numpy as np
import pytest
from amaranth.sim import Simulator

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.synth.alternatives import pipelines

BITS = 8
DEPTH = 5
ALL = [
    pipelines.Skid,
    pipelines.Enabled,
    pipelines.Elastic,
    pipelines.EnabledBehindSkid,
    pipelines.Skids,
    pipelines.Credits,
    pipelines.Registers,
    pipelines.BlockRam,
    RowBuffer,
    Queue,
]


def make(kind):
    """The component, with room for ``DEPTH`` words where it has a size."""
    return kind(BITS) if kind is pipelines.Skid else kind(BITS, DEPTH)


def play(component, offers, takes, cycles):
    """Offer and take as the iterators say; give the words that entered, and left, by cycle."""
    entered, left = [], []

    async def bench(ctx):
        word, offered = 0, False
        for cycle in range(cycles):
            offered = offered or next(offers)
            ctx.set(component.i.valid, offered)
            ctx.set(component.i.payload, word % 256)
            ctx.set(component.o.ready, next(takes))
            if ctx.get(component.i.valid) and ctx.get(component.i.ready):
                entered.append((cycle, word % 256))
                word, offered = word + 1, False
            if ctx.get(component.o.valid) and ctx.get(component.o.ready):
                left.append((cycle, ctx.get(component.o.payload)))
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return entered, left


def chances(share, seed):
    random = np.random.default_rng(seed)
    return (bool(random.random() < share) for _ in itertools.count())


@pytest.mark.parametrize("share", [(0.9, 0.3), (0.3, 0.9), (0.5, 0.5)], ids=str)
@pytest.mark.parametrize("kind", ALL)
def test_order_is_kept_and_nothing_lost(kind, share):
    entered, left = play(make(kind), chances(share[0], 1), chances(share[1], 2), 400)
    assert len(left) > 80
    assert [word for _, word in left] == [word for _, word in entered][: len(left)]
    assert len(entered) - len(left) <= 2 * DEPTH + 2


@pytest.mark.parametrize("kind", ALL)
def test_a_word_passes_each_cycle(kind):
    _, left = play(make(kind), itertools.repeat(True), itertools.repeat(True), 60)
    cycles = [cycle for cycle, _ in left]
    assert cycles == list(range(cycles[0], 60))
    assert cycles[0] <= 2 + DEPTH + 2


@pytest.mark.parametrize("kind", ALL)
def test_a_stall_ends_with_a_word_each_cycle_again(kind):
    takes = itertools.chain([True] * 20, [False] * 20, itertools.repeat(True))
    _, left = play(make(kind), itertools.repeat(True), takes, 80)
    assert [cycle for cycle, _ in left if cycle >= 40] == list(range(40, 80))


@pytest.mark.parametrize(
    "kind",
    [
        pipelines.Skid,
        pipelines.EnabledBehindSkid,
        pipelines.Skids,
        pipelines.Credits,
        pipelines.Registers,
        pipelines.BlockRam,
    ],
)
def test_no_path_runs_through(kind):
    """``i.ready`` does not move with ``o.ready`` within a cycle, nor ``o`` with ``i``."""
    component = make(kind)

    async def bench(ctx):
        ctx.set(component.i.valid, 1)
        for cycle in range(40):
            ctx.set(component.o.ready, 0)
            ctx.set(component.i.payload, cycle)
            ctx.set(component.i.valid, 0)
            seen = (ctx.get(component.i.ready), ctx.get(component.o.valid))
            ctx.set(component.o.ready, cycle % 3 == 0)
            ctx.set(component.i.valid, 1)
            assert (ctx.get(component.i.ready), ctx.get(component.o.valid)) == seen
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_delay():
    delay = pipelines.Delay(BITS, 3)

    async def bench(ctx):
        for value in range(20):
            ctx.set(delay.i, value)
            await ctx.tick()
            if value >= 2:
                assert ctx.get(delay.o) == value - 2

    simulator = Simulator(delay)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
