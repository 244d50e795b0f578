"""Sums and comparisons in parts."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.lookahead import exceeds_later, incremented, sum_in_parts

BITS = 13


class Both(wiring.Component):
    """All functions of three inputs."""

    a: In(BITS)
    b: In(BITS - 4)
    first: In(1)
    bound: In(BITS + 1)
    exceeds: Out(1)
    is_above: Out(1)
    total: Out(BITS)
    next: Out(BITS)

    def __init__(self, part):
        self.part = part
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        part = {"part": self.part}
        m.d.comb += [
            self.exceeds.eq(
                exceeds_later(m, self.a, self.b, self.bound, "all", first=self.first, **part)
            ),
            self.is_above.eq(exceeds_later(m, self.a, None, self.bound, "one", **part)),
            self.total.eq(sum_in_parts(m, self.a, self.b, "sum", **part)),
            self.next.eq(incremented(self.a, self.first, **part)),
        ]
        return m


def cases(rng):
    for _ in range(300):
        a, b, first = (
            int(rng.integers(1 << BITS)),
            int(rng.integers(1 << BITS - 4)),
            rng.integers(2),
        )
        if rng.random() < 0.3:
            a = (1 << BITS) - int(rng.integers(1, 4)) - b * int(rng.integers(2))
        yield a, b, int(first), max(0, a + b * int(rng.integers(2)) + int(rng.integers(-2, 3)))


@pytest.mark.parametrize("part", [1, 4, 6, 32])
def test_as_plain_arithmetic(simulate, rng, part):
    dut = Both(part)

    async def bench(ctx):
        for a, b, first, bound in cases(rng):
            for name, value in (("a", a), ("b", b), ("first", first), ("bound", bound)):
                ctx.set(getattr(dut, name), value)
            assert ctx.get(dut.next) == (a + first) % (1 << BITS)
            await ctx.tick()
            assert ctx.get(dut.exceeds) == (a + b + first > bound), (a, b, first, bound)
            assert ctx.get(dut.is_above) == (a > bound), (a, bound)
            assert ctx.get(dut.total) == (a + b) % (1 << BITS), (a, b)

    simulate(dut, bench)
