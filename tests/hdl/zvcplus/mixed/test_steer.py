"""Packets go their ways, and leave in their order, whatever stalls."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, wiring

from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.zvcplus.mixed.steer import PacketMerge, PacketSteer

BEAT = data.StructLayout({"number": 12, "last": 1})
WAYS = 3


class _There(wiring.Component):
    """A steer and a merge with a FIFO of another depth on each way."""

    def __init__(self):
        self.steer = PacketSteer(BEAT, WAYS)
        self.merge = PacketMerge(BEAT, WAYS, 5)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.steer, m.submodules.merge = self.steer, self.merge
        for way in range(WAYS):
            fifo = m.submodules[f"fifo{way}"] = Fifo(BEAT, 2 << way)
            wiring.connect(m, self.steer.o[way], fifo.i)
            wiring.connect(m, fifo.o, self.merge.i[way])
        m.d.comb += self.merge.i_select.payload.eq(self.steer.i_select.payload)
        return m


@pytest.mark.parametrize("share", [1, 0.7, 0.3])
def test_order_is_kept(simulate, rng, share):
    unit = _There()
    sizes = rng.choice([1, 1, 2, 9], 60)
    ways = rng.integers(0, WAYS, sizes.size)
    beats = [
        (number, at == size - 1) for number, size in enumerate(sizes.tolist()) for at in range(size)
    ]

    async def bench(ctx):
        found, given, commanded, cycles = [], 0, 0, 0
        steer, merge = unit.steer, unit.merge
        while len(found) < len(beats):
            has_select = commanded < ways.size and rng.random() < share
            ctx.set(steer.i_select.payload, 1 << int(ways[min(commanded, ways.size - 1)]))
            # Both take a select, or none does.
            taken = has_select and ctx.get(steer.i_select.ready & merge.i_select.ready)
            ctx.set(steer.i_select.valid, taken)
            ctx.set(merge.i_select.valid, taken)
            offers = given < len(beats) and rng.random() < share
            ctx.set(steer.i.valid, offers)
            if offers:
                number, last = beats[given]
                ctx.set(steer.i.payload, {"number": number, "last": last})
            ctx.set(merge.o.ready, rng.random() < share)
            if offers and ctx.get(steer.i.ready):
                assert beats[given][0] < commanded  # no beat before its select
                given += 1
            commanded += taken
            if ctx.get(merge.o.valid & merge.o.ready):
                number = ctx.get(merge.o.payload.number)
                found.append((number, bool(ctx.get(merge.o.payload.last))))
                assert ctx.get(merge.select) == 1 << int(ways[number])
            await ctx.tick()
            cycles += 1
        assert found == beats
        # One beat a cycle; a FIFO takes two cycles, and so does the way back for a select.
        assert share < 1 or cycles <= len(beats) + 10 + sizes.size

    simulate(unit, bench)
