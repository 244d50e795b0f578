"""Packets go their ways, whatever stalls."""

import pytest
from amaranth.lib import data

from cdma.hdl.zvcplus.mixed.steer import PacketSteer

BEAT = data.StructLayout({"number": 12, "last": 1})
WAYS = 3


@pytest.mark.parametrize("share", [1, 0.7, 0.3])
def test_each_beat_goes_its_way(simulate, rng, share):
    steer = PacketSteer(BEAT, WAYS)
    sizes = rng.choice([1, 1, 2, 9], 60)
    ways = rng.integers(0, WAYS, sizes.size)
    beats = [
        (number, at == size - 1) for number, size in enumerate(sizes.tolist()) for at in range(size)
    ]

    async def bench(ctx):
        found, given, commanded, cycles = [], 0, 0, 0
        while len(found) < len(beats):
            has_select = commanded < ways.size and rng.random() < share
            ctx.set(steer.i_select.payload, 1 << int(ways[min(commanded, ways.size - 1)]))
            ctx.set(steer.i_select.valid, has_select)
            offers = given < len(beats) and rng.random() < share
            ctx.set(steer.i.valid, offers)
            if offers:
                number, last = beats[given]
                ctx.set(steer.i.payload, {"number": number, "last": last})
            for way in steer.o:
                ctx.set(way.ready, rng.random() < share)
            passed = [k for k, way in enumerate(steer.o) if ctx.get(way.valid & way.ready)]
            assert bool(passed) == bool(offers and ctx.get(steer.i.ready))
            if passed:
                assert beats[given][0] < commanded  # no beat before its select
                given += 1
                assert passed == [ways[number]]
                payload = steer.o[passed[0]].payload
                found.append((ctx.get(payload.number), bool(ctx.get(payload.last))))
            commanded += has_select and ctx.get(steer.i_select.ready)
            await ctx.tick()
            cycles += 1
        assert found == beats
        # One beat a cycle; the first waits for its select.
        assert share < 1 or cycles <= len(beats) + 2

    simulate(steer, bench)
