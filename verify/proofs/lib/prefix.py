"""The prefix sum of each mask, with and without the output register."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.prefix import PrefixSum
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Counts(Elaboratable):
    """Recursive definition: the rank of a bit is the rank of the bit below, plus the bit below. The
    total is the rank one position above the last bit."""

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


PROOFS = (
    Proof(
        name="prefix_sum",
        promise="The rank of a bit is the number of ones below the bit",
        components=(PrefixSum,),
        design=lambda width: Counts(PrefixSum(width)),
        sizes={f"{width} bits": width for width in (2, 8, 16, 32)},
        depth=2,
        broken=(
            *faults(8, 1, inverted("dut.total", 0)),
            *faults(32, 4, late("dut.sum3"), stuck_at(0, "dut.sum31", 2)),
        ),
    ),
)
