"""The prefix sum of every mask, with and without its register."""

import pytest
from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.prefix import PrefixSum
from cdma.verify.formal.stream_rules import anything


class Counts(Elaboratable):
    """A rank is one more than that of the bit below when that is set; the total is one beyond."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            dut.mask.eq(anything(m, dut.width, "mask")),
        ]
        mask, valid = dut.mask, 1
        for _ in range(dut.latency(dut.width)):
            mask, valid = Signal.like(dut.mask, name="counted"), Signal()
            with m.If(dut.enable):
                m.d.sync += [mask.eq(dut.mask), valid.eq(1)]
        lane = Signal(range(dut.width))
        m.d.comb += lane.eq(AnyConst(len(lane)))
        sums = [*dut.ranks, dut.total]
        with m.If(valid):
            m.d.comb += Assert(dut.ranks[0] == 0)
            for index in range(dut.width):
                m.d.comb += Assert(sums[index + 1] == sums[index] + mask[index])
            m.d.comb += [Cover(dut.total == dut.width), Cover(dut.total == 0)]
        return m


@pytest.mark.proof(PrefixSum, "2, 8, 16 and 32 bits", induction=2)
@pytest.mark.parametrize("width", [2, 8, 16, 32])
def test_a_rank_is_the_number_of_ones_below(formal, width):
    formal(Counts(PrefixSum(width)))


@pytest.mark.proof(PrefixSum, "32 bits", induction=2)
@pytest.mark.parametrize(
    ("old", "new"),
    [("(carry & (x ^ y))", "(carry & x)"), ("with m.If(self.enable):", "with m.If(1):")],
)
def test_a_broken_prefix_sum_is_refuted(formal, mutated, old, new):
    formal.refutes(Counts(mutated(PrefixSum, old, new)(32)), depth=4)
