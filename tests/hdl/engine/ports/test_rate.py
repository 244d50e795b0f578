"""Throttling keeps the mean rate."""

import pytest

from cdma.hdl.engine.ports.rate import RateLimiter


def _issued(simulate, rate, burst, cycles):
    dut = RateLimiter(1024)

    async def bench(ctx):
        ctx.set(dut.rate, rate)
        total = 0
        for _ in range(cycles):
            size = 0 if ctx.get(dut.hold) else burst
            ctx.set(dut.issued, size)
            total += size
            await ctx.tick()
        return total

    return simulate(dut, bench)


@pytest.mark.parametrize(("rate", "burst"), [(1024, 512), (100, 64), (8192, 512), (16384, 128)])
def test_mean_rate(simulate, rate, burst):
    cycles = 8_000
    expected = rate * cycles / 1024
    assert abs(_issued(simulate, rate, burst, cycles) - expected) <= 2 * burst + 0.02 * expected


def test_zero_is_unlimited(simulate):
    assert _issued(simulate, 0, 512, 100) == 512 * 100
