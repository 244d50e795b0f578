"""The queue of registers."""

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import DecompressorStatus


@pytest.mark.parametrize("pipe", [False, True], ids=["registers", "pipe"])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_every_order_of_pushes_and_pops(check_fifo, rng, depth, pipe):
    """And every entry can be seen, the head first."""
    queue = Queue(8, depth, pipe=pipe)

    def entries(ctx, model):
        assert ctx.get(queue.valid) == (1 << len(model)) - 1
        assert [ctx.get(queue.entries[k]) for k in range(len(model))] == list(model)

    check_fifo(queue, depth, rng, entries, pipe=pipe)


def test_carries_any_layout(exchange):
    items = [{"bytes": 1 << 31, "error": 3}, {"bytes": 7, "error": 255}]
    assert exchange(Queue(DecompressorStatus(), 2), {"i": items}, {"o": 2})["o"].payloads == items


@pytest.mark.parametrize(
    ("depth", "pipe", "pitch"), [(1, False, 2), (2, False, 1), (6, False, 1), (1, True, 1)]
)
def test_one_transfer_a_cycle_after_one_cycle(exchange, depth, pipe, pitch):
    """With one entry, one in two cycles, unless it is a pipe."""
    passed = exchange(Queue(8, depth, pipe=pipe), {"i": list(range(50))}, {"o": 50})
    assert passed["i"].cycles == list(range(0, 50 * pitch, pitch))
    assert passed["o"].cycles == list(range(1, 50 * pitch + 1, pitch))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_that_it_fills_is_known_before(simulate, rng, depth):
    m, fills = Module(), Signal()
    m.submodules.queue = queue = Queue(8, depth)
    m.d.comb += fills.eq(queue.fills)

    async def bench(ctx):
        seen = set()
        for _ in range(60 * depth):
            takes = int(rng.integers(2))
            ctx.set(queue.i.valid, int(rng.random() < 0.7))
            ctx.set(queue.o.ready, takes)
            is_left, fills_next = takes and ctx.get(queue.o.valid), ctx.get(fills)
            await ctx.tick()
            assert (not ctx.get(queue.i.ready)) == bool(fills_next and not is_left)
            seen.add((fills_next, bool(is_left)))
        return seen

    every = {(full, left) for full in (0, 1) for left in (False, True)}
    # The one entry of a queue leaves when it is full.
    assert simulate(m, bench) == (every if depth > 1 else every - {(0, True)})


@pytest.mark.parametrize("held", [0, 1, 2])
def test_no_path_runs_through(simulate, cut, held):
    queue = Queue(8, 2)

    async def bench(ctx):
        ctx.set(queue.i.valid, 1)
        await ctx.tick().repeat(held) if held else None
        ctx.set(queue.i.valid, 0)
        inputs = [queue.i.valid, queue.i.payload, queue.o.ready]
        outputs = [queue.i.ready, queue.o.valid, queue.o.payload, queue.valid]
        cut(ctx, inputs, [*outputs, queue.entries[0], queue.entries[1]])
        return [ctx.get(queue.i.ready), ctx.get(queue.o.valid)]

    assert simulate(queue, bench) == [held < 2, held > 0]


@pytest.mark.parametrize("depth", [0, -2])
def test_depth_is_too_small(depth):
    with pytest.raises(ValueError, match=f"^Depth of a queue must be at least 1, not {depth}$"):
        Queue(8, depth)
