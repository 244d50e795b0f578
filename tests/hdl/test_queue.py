"""The queue."""

from collections import deque

import pytest

from cdma.hdl.beat import DecompressorStatus
from cdma.hdl.queue import Queue


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5", "bursts:3,7"])
@pytest.mark.parametrize("depth", [2, 4, 16])
def test_order_is_kept(exchange, rng, depth, stalls):
    items = [int(item) for item in rng.integers(256, size=150)]
    passed = exchange(Queue(8, depth), {"i": items}, {"o": len(items)}, stalls=stalls)
    assert passed["o"].payloads == items


def test_carries_any_layout(exchange):
    items = [{"bytes": 1 << 31, "error": 3}, {"bytes": 7, "error": 255}]
    assert exchange(Queue(DecompressorStatus(), 2), {"i": items}, {"o": 2})["o"].payloads == items


@pytest.mark.parametrize("depth", [2, 8])
def test_one_transfer_a_cycle_after_one_cycle(exchange, depth):
    passed = exchange(Queue(8, depth), {"i": list(range(50))}, {"o": 50})
    assert passed["i"].cycles == list(range(50))
    assert passed["o"].cycles == list(range(1, 51))


@pytest.mark.parametrize("depth", [2, 4, 16])
def test_holds_just_its_depth(exchange, depth):
    items = list(range(3 * depth))
    stalls = {"o": f"paused:{2 * depth + 5}"}
    passed = exchange(Queue(8, depth), {"i": items}, {"o": len(items)}, stalls=stalls)
    # All of it is filled before anything leaves, and refilled one cycle after a place is free.
    first_out = passed["o"].cycles[0]
    assert first_out == 2 * depth + 5
    assert passed["i"].cycles[:depth] == list(range(depth))
    assert passed["i"].cycles[depth] == first_out + 1
    assert passed["o"].payloads == items


def test_every_order_of_pushes_and_pops(simulate, rng):
    """Against a deque: empty, full, and both at once, for many cycles."""
    queue, depth = Queue(8, 4), 4

    async def bench(ctx):
        model, met = deque(), set()
        for cycle in range(600):
            push, pop = bool(rng.integers(2)), bool(rng.integers(2))
            ctx.set(queue.i.valid, push)
            ctx.set(queue.i.payload, cycle % 256)
            ctx.set(queue.o.ready, pop)
            assert ctx.get(queue.i.ready) == (len(model) < depth)
            assert ctx.get(queue.o.valid) == (len(model) > 0)
            if model:
                assert ctx.get(queue.o.payload) == model[0]
            met.add((len(model), push, pop))
            pushes, pops = push and len(model) < depth, pop and bool(model)
            if pops:
                model.popleft()
            if pushes:
                model.append(cycle % 256)
            await ctx.tick()
        return met

    assert len(simulate(queue, bench)) == (depth + 1) * 4


@pytest.mark.parametrize("held", [0, 1, 2])
def test_no_path_runs_through(simulate, cut, held):
    queue = Queue(8, 2)

    async def bench(ctx):
        ctx.set(queue.i.valid, 1)
        await ctx.tick().repeat(held) if held else None
        ctx.set(queue.i.valid, 0)
        inputs = [queue.i.valid, queue.i.payload, queue.o.ready]
        outputs = [queue.i.ready, queue.o.valid, queue.o.payload]
        cut(ctx, inputs, outputs)
        return [ctx.get(queue.i.ready), ctx.get(queue.o.valid)]

    assert simulate(queue, bench) == [held < 2, held > 0]


@pytest.mark.parametrize("depth", [0, 1, 3, 6, -2])
def test_depth_is_not_a_power_of_two(depth):
    message = f"^Depth of a queue must be a power of two of at least 2, not {depth}$"
    with pytest.raises(ValueError, match=message):
        Queue(8, depth)
