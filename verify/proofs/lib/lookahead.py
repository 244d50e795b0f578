"""Sums and comparisons in parts are plain arithmetic."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.lookahead import exceeds_later, incremented, sum_in_parts
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, swapped


class Agree(Elaboratable):
    """All functions, on numbers of any value, at a size of numbers and of parts."""

    def __init__(self, bits, part, exceeds=exceeds_later):
        self.bits, self.part, self.exceeds = bits, part, exceeds

    def elaborate(self, platform):
        m = Module()
        bits, part = self.bits, {"part": self.part}
        a, b = anything(m, bits, "a"), anything(m, bits - 2, "b")
        bound, first = anything(m, bits + 1, "bound"), anything(m, 1, "first")
        upper = Signal(2)  # bits of `a` above those of `b`, which stay
        sum_a = Signal(bits)
        m.d.sync += upper.eq(upper)
        m.d.comb += [sum_a.eq(a), sum_a[bits - 2 :].eq(upper)]
        exceeds = self.exceeds(m, a, b, bound, "all", first=first, **part)
        is_above = exceeds_later(m, a, None, bound, "one", **part)
        total = sum_in_parts(m, sum_a, b, "sum", **part)
        was = [Signal(len(each), name=f"was{k}") for k, each in enumerate((a, b, bound, first))]
        was_sum, has_run = Signal(bits), Signal()
        m.d.sync += [
            *(kept.eq(each) for kept, each in zip(was, (a, b, bound, first), strict=True)),
            was_sum.eq(sum_a + b),
            has_run.eq(1),
        ]
        with m.If(has_run):
            m.d.comb += [
                Assert(exceeds == (was[0] + was[1] + was[3] > was[2])),
                Assert(is_above == (was[0] > was[2])),
                Assert(total == was_sum),
                Cover(exceeds & ~is_above),
            ]
        m.d.comb += Assert(incremented(a, first, **part) == (a + first)[:bits])
        return m


def _without_first(m, a, b, bound, name, *, first, part):
    return exceeds_later(m, a, b, bound, name, part=part)


PROOFS = (
    Proof(
        name="lookahead",
        promise="Sums and comparisons whose carries are in registers are those of plain numbers",
        components=(exceeds_later, sum_in_parts, incremented),
        design=lambda size: Agree(*size),
        sizes={"14 bits in parts of 6": (14, 6), "9 bits in parts of 4": (9, 4)},
        broken=swapped(
            3, {"the lowest carry is lost": lambda: Agree(9, 4, exceeds=_without_first)}
        ),
    ),
)
