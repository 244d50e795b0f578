"""Products of rows, and whether they are too large."""

import pytest

from cdma.hdl.engine.front.ring.multiply import Multiplier

BITS = 37


async def multiply(ctx, dut, rows, factor, first, is_less):
    """The product, whether it is too large, and the cycles that it took."""
    ctx.set(dut.load, 1)
    ctx.set(dut.rows, rows)
    ctx.set(dut.is_less, is_less)
    ctx.set(dut.factor, factor % (1 << BITS))
    ctx.set(dut.is_negative, factor < 0)
    ctx.set(dut.first, first)
    await ctx.tick()
    ctx.set(dut.load, 0)
    for cycles in range(1, 60):
        if not ctx.get(dut.busy):
            return ctx.get(dut.product), ctx.get(dut.over), cycles
        await ctx.tick()
    raise AssertionError("busy for ever")


@pytest.mark.parametrize("sign", [1, -1])
def test_products(simulate, rng, sign):
    dut = Multiplier(BITS)

    async def bench(ctx):
        overs = 0
        for _ in range(200):
            bits = int(rng.integers(1, 33))
            rows = int(rng.integers(1, 1 << bits))
            factor = sign * int(rng.integers(0, 1 << int(rng.integers(1, BITS))))
            first, is_less = int(rng.integers(0, 1 << 30)), int(rng.integers(2))
            expected = (rows - is_less) * abs(factor) + first
            product, over, cycles = await multiply(ctx, dut, rows, factor, first, is_less)
            assert over == (expected >> BITS != 0), (rows, factor, first, is_less)
            if not over:
                assert product == expected
            assert rows.bit_length() <= cycles <= rows.bit_length() + 6
            overs += over
        assert 20 < overs < 180, "both kinds are met"

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("rows", "factor", "over"),
    [
        (2, 1 << 36, 1),
        (1, 1 << 36, 0),
        (1 << 31, 1 << 5, 0),
        (1 << 31, 1 << 6, 1),
        (2, -(1 << 36), 1),
        (1, -(1 << 36), 0),
        (1 << 31, -(1 << 5), 0),
        (1 << 31, -(1 << 6), 1),
        (0xFFFF_FFFF, 0, 0),
    ],
)
def test_powers_of_two(simulate, rows, factor, over):
    dut = Multiplier(BITS)

    async def bench(ctx):
        return await multiply(ctx, dut, rows, factor, 0, 0)

    product, is_over, _ = simulate(dut, bench)
    assert is_over == over
    if not over:
        assert product == rows * abs(factor)
