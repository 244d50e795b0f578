"""Bytes of all rows."""

import pytest

from cdma.hdl.engine.common.product import RowsProduct


@pytest.mark.parametrize(
    ("rows", "size", "first"),
    [
        (1, 12, 0),
        (1, 12, 1),
        (1, (1 << 44) - 2, 1),
        (2, 5, 0),
        (3, 0x1FFF, 0),
        (1000, 4096, 0),
        (0xFFFFFFFF, 0xFFFF, 0),
        (3, 0, 0),
        (5, 0, 1 << 17),
        (1 << 16, 2, 0),
        (0x10001, 3, 0),
    ],
)
@pytest.mark.parametrize("bits", [49, 17])
def test_product(simulate, rows, size, first, bits):
    size %= 1 << bits
    dut = RowsProduct(bits)

    async def bench(ctx):
        ctx.set(dut.rows, rows)
        ctx.set(dut.factor, size)
        ctx.set(dut.first, first)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        cycles = 0
        while ctx.get(dut.busy):
            await ctx.tick()
            cycles += 1
        return ctx.get(dut.product), ctx.get(dut.over), cycles

    product, over, cycles = simulate(dut, bench)
    total = rows * size + first
    assert (product, over) == (total % (1 << bits), total >= 1 << bits)
    assert rows.bit_length() <= cycles <= rows.bit_length() + 3
    assert rows > 1 or cycles == 1
