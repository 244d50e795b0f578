"""Matrices of XORs."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.xor import xor_matrix, xor_plan

BITS = 12


def _columns(count):
    source = random.Random(count)
    return [source.getrandbits(BITS) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 20])
def test_matrix(simulate, count):
    columns = _columns(count)

    class Matrix(wiring.Component):
        i: In(count)
        o: Out(BITS)

        def elaborate(self, platform):
            m = Module()
            m.d.comb += self.o.eq(xor_matrix(m, self.i, columns, BITS, "matrix"))
            return m

    dut, source = Matrix(), random.Random(1)

    async def bench(ctx):
        for _ in range(20):
            value, expected = source.getrandbits(count), 0
            for k, column in enumerate(columns):
                expected ^= column if value >> k & 1 else 0
            ctx.set(dut.i, value)
            await ctx.delay(1e-6)
            assert ctx.get(dut.o) == expected

    simulate(dut, bench)


def test_shared_terms_save_xors():
    columns = _columns(20)
    pairs, outputs = xor_plan(tuple(columns), BITS)
    alone = sum(column.bit_count() for column in columns) - BITS
    together = len(pairs) + sum(len(terms) - 1 for terms in outputs)
    assert together < 0.7 * alone
