"""Wide sums in two steps."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import advance_in_two, sum_in_halves, sum_later

BITS = 9
PAIRS = [(0, 0), (0xF, 1), (0x10, 0xF), (0x1FF, 1), (0xFF, 0x101), (0, 1), (0x123, 0xEF)]


class Sums(wiring.Component):
    """All kinds of sums of two inputs."""

    a: In(BITS)
    b: In(BITS)
    total: Out(BITS)
    now: Out(BITS + 1)
    more: Out(BITS + 1)
    up: Out(BITS)
    down: Out(BITS)
    settles: Out(1)

    def elaborate(self, platform):
        m = Module()
        carries = [
            advance_in_two(m, self.up, self.b[:4], 4, "up"),
            advance_in_two(m, self.down, self.b[:4], 4, "down", down=True),
        ]
        m.d.comb += [
            self.total.eq(sum_later(m, self.a, self.b, BITS, "sum")),
            self.now.eq(sum_in_halves(self.a, self.b)),
            self.more.eq(sum_in_halves(self.a, self.b, 1)),
            self.settles.eq(carries[0] | carries[1]),
        ]
        return m


@pytest.mark.parametrize("is_new", [True, False], ids=["every cycle", "steady"])
def test_sums_of_two_cycles_ago(simulate, is_new):
    dut = Sums()
    pairs = PAIRS if is_new else [pair for pair in PAIRS for _ in range(3)]

    async def bench(ctx):
        found = []
        for a, b in [*pairs, (0, 0), (0, 0)]:
            found.append(ctx.get(dut.total))
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            await ctx.tick()
        return found[2:]

    assert simulate(dut, bench) == [(a + b) % 512 for a, b in pairs]


def test_advance(simulate):
    dut = Sums()

    async def bench(ctx):
        up = down = 0
        for step in [15, 1, 15, 15, 0, 7, 15, 15, 3] * 5:
            ctx.set(dut.b, step)
            await ctx.tick()
            ctx.set(dut.b, 0)
            up, down = (up + step) % 512, (down - step) % 512
            while ctx.get(dut.settles):
                await ctx.tick()
            assert (ctx.get(dut.up), ctx.get(dut.down)) == (up, down)

    simulate(dut, bench)


def test_a_step_in_every_cycle(simulate):
    dut = Sums()

    async def bench(ctx):
        ctx.set(dut.b, 15)
        for _ in range(50):
            await ctx.tick()
        ctx.set(dut.b, 0)
        await ctx.tick()
        return ctx.get(dut.up), ctx.get(dut.down)

    assert simulate(dut, bench) == (750 % 512, -750 % 512)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_sum_in_halves_has_its_carry(simulate, a, b):
    dut = Sums()

    async def bench(ctx):
        ctx.set(dut.a, a)
        ctx.set(dut.b, b)
        await ctx.tick()
        return ctx.get(dut.now), ctx.get(dut.more)

    assert simulate(dut, bench) == (a + b, a + b + 1)
