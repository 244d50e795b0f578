"""The buffer in a memory."""

import pytest

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.zvc.beat import DecompressorStatus

FORM = pytest.mark.parametrize("in_flip_flops", [False, True], ids=["memory", "flip-flops"])


@pytest.mark.parametrize("depth", [2, 3, 4, 6, 13])
@pytest.mark.parametrize("pipe", [False, True])
@FORM
def test_every_order_of_pushes_and_pops(check_fifo, rng, depth, pipe, in_flip_flops):
    buffer = RowBuffer(8, depth, pipe=pipe, in_flip_flops=in_flip_flops)
    check_fifo(buffer, depth, rng, pipe=pipe)


@FORM
def test_carries_any_layout(exchange, in_flip_flops):
    items = [{"bytes": 1 << 31, "error": 3}, {"bytes": 7, "error": 255}]
    buffer = RowBuffer(DecompressorStatus(), 2, in_flip_flops=in_flip_flops)
    assert exchange(buffer, {"i": items}, {"o": 2})["o"].payloads == items


@pytest.mark.parametrize("depth", [2, 5])
def test_one_transfer_a_cycle_after_one_cycle(exchange, depth):
    passed = exchange(RowBuffer(8, depth), {"i": list(range(50))}, {"o": 50})
    assert passed["i"].cycles == list(range(50))
    assert passed["o"].cycles == list(range(1, 51))


@pytest.mark.parametrize("held", [0, 1, 2])
def test_no_path_runs_through_but_that_of_ready(simulate, cut, held):
    buffer = RowBuffer(8, 2)

    async def bench(ctx):
        ctx.set(buffer.i.valid, 1)
        await ctx.tick().repeat(held) if held else None
        ctx.set(buffer.i.valid, 0)
        outputs = [buffer.o.valid, buffer.o.payload]
        cut(ctx, [buffer.i.valid, buffer.i.payload], [buffer.i.ready, *outputs])
        cut(ctx, [buffer.o.ready], outputs)
        return [ctx.get(buffer.i.ready), ctx.get(buffer.o.valid)]

    assert simulate(buffer, bench) == [held < 2, held > 0]


def test_no_path_runs_through_without_pipe(simulate, cut):
    buffer = RowBuffer(8, 2, pipe=False)

    async def bench(ctx):
        cut(ctx, [buffer.o.ready], [buffer.i.ready, buffer.o.valid, buffer.o.payload])

    simulate(buffer, bench)


@pytest.mark.parametrize("depth", [1, 0, -2])
def test_depth_is_too_small(depth):
    with pytest.raises(ValueError, match=f"^Depth of a buffer must be at least 2, not {depth}$"):
        RowBuffer(8, depth)
