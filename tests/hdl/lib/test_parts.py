"""Sums and comparisons in parts."""

import itertools

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.parts import advance_in_parts, is_below_later

BITS, PARTS = 11, 3
STEPS = [0x7FF, 1, 0x10F, 0xF0, 0, 0x3FF, 0x400, 0x0FF]


class Parts(wiring.Component):
    """All of the functions, with one step or two numbers."""

    a: In(BITS)
    b: In(BITS - 2)
    step: In(BITS)
    up: Out(BITS)
    down: Out(BITS)
    settles: Out(1)
    below: Out(1)

    def elaborate(self, platform):
        m = Module()
        carries = [
            advance_in_parts(m, self.up, self.step, "up", parts=PARTS),
            advance_in_parts(m, self.down, self.step, "down", parts=PARTS, down=True),
        ]
        m.d.comb += [
            self.settles.eq(carries[0].any() | carries[1].any()),
            self.below.eq(is_below_later(m, self.a, self.b, "is_below", parts=PARTS)),
        ]
        return m


@pytest.mark.parametrize("gap", [0, 1, 5])
def test_steps(simulate, gap):
    dut = Parts()

    async def bench(ctx):
        total = 0
        for step in STEPS * 3:
            ctx.set(dut.step, step)
            await ctx.tick()
            ctx.set(dut.step, 0)
            total += step
            for _ in range(gap):
                await ctx.tick()
        cycles = 0
        while ctx.get(dut.settles):
            await ctx.tick()
            cycles += 1
        assert (ctx.get(dut.up), ctx.get(dut.down)) == (total % 2048, -total % 2048)
        return cycles

    assert simulate(dut, bench) <= PARTS - 1


def test_comparisons_follow_two_cycles_later(simulate):
    dut = Parts()
    pairs = list(
        itertools.product([0, 15, 16, 0x110, 0x10F, 0x1FF, 0x7FF], [0, 0x10F, 0x110, 0x1FF])
    )

    async def bench(ctx):
        found = []
        for a, b in [*pairs, (0, 0), (0, 0)]:
            found.append(ctx.get(dut.below))
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            await ctx.tick()
        return found[2:]

    assert simulate(dut, bench) == [int(a < b) for a, b in pairs]
