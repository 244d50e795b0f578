"""The FIFO in a RAM keeps order, has its latency and its room."""

import pytest

from cdma.hdl.lib.fifo import Fifo

STALLS = ("never", "bernoulli:0.5", "alternating", "bursts:5,9")


@pytest.mark.parametrize("depth", [2, 4, 16])
@pytest.mark.parametrize("stall", STALLS)
def test_keeps_the_order(exchange, depth, stall):
    items = list(range(60))
    passed = exchange(Fifo(8, depth), {"i": items}, {"o": len(items)}, stalls=stall)
    assert passed["o"].payloads == items


def test_throughput_and_latency(exchange):
    passed = exchange(Fifo(8, 8), {"i": list(range(40))}, {"o": 40})
    assert passed["i"].cycles == list(range(40))
    assert passed["o"].cycles == [cycle + 2 for cycle in range(40)]


@pytest.mark.parametrize("depth", [2, 8])
def test_room(simulate, depth):
    dut = Fifo(8, depth)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        taken = 0
        for _ in range(depth + 8):
            taken += ctx.get(dut.i.ready)
            await ctx.tick()
        assert ctx.get(dut.level) == taken
        assert not ctx.get(dut.i.ready)
        return taken

    assert simulate(dut, bench) == depth + 1


@pytest.mark.parametrize("depth", [0, 1, 3, 12])
def test_wrong_depth(depth):
    with pytest.raises(
        ValueError, match=f"^Depth of a FIFO must be a power of two from 2 on, not {depth}$"
    ):
        Fifo(8, depth)
