"""Bytes of all rows."""

import pytest

from cdma.hdl.engine.common.product import RowsProduct


@pytest.mark.parametrize(
    ("rows", "row_bytes"), [(1, 12), (2, 5), (1000, 4096), (0xFFFFFFFF, 1 << 12), (3, 0)]
)
def test_product(simulate, rows, row_bytes):
    dut = RowsProduct()

    async def bench(ctx):
        ctx.set(dut.rows, rows)
        ctx.set(dut.row_bytes, row_bytes)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        cycles = 0
        while ctx.get(dut.busy):
            await ctx.tick()
            cycles += 1
        return ctx.get(dut.product), cycles

    product, cycles = simulate(dut, bench)
    assert product == rows * row_bytes
    assert cycles == rows.bit_length()
