"""Latency is that of the burst, also behind others."""

import pytest

from cdma.hdl.engine.ports.latency import LatencySampler


def _samples(simulate, asks, data):
    """``asks`` are cycles of addresses, ``data`` is (cycle, last) of beats."""
    dut, data = LatencySampler(64), dict(data)

    async def bench(ctx):
        found, outstanding = [], 0
        for cycle in range(max(data) + 3):
            ctx.set(dut.asked, cycle in asks)
            ctx.set(dut.outstanding, outstanding + 1)  # with one that is asked for now
            ctx.set(dut.given, cycle in data)
            ctx.set(dut.last, data.get(cycle, False))
            if ctx.get(dut.valid):
                found.append(ctx.get(dut.cycles))
            outstanding += (cycle in asks) - bool(data.get(cycle, False))
            await ctx.tick()
        return found

    return simulate(dut, bench)


@pytest.mark.parametrize("latency", [1, 2, 30])
def test_one_burst(simulate, latency):
    assert _samples(simulate, {4}, [(4 + latency, True)]) == [latency]


def test_behind_another(simulate):
    data = [(12, False), (13, True), (20, True), (29, True)]
    assert _samples(simulate, {2, 5, 14}, data) == [10, 15]
