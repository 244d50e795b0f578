"""What is owed is told from nothing owed, in every cycle."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.tally import Tally
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class TellsZero(Elaboratable):
    """``any`` is that of a plain count, which neither overflows nor falls below zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        count = Signal(dut.bits)
        m.d.comb += [
            dut.up.eq(anything(m, 1, "up")),
            dut.down.eq(anything(m, 1, "down")),
            Assume(~dut.down | (count != 0)),
            Assume(~dut.up | ~count.all()),
        ]
        m.d.sync += count.eq(count + dut.up - dut.down)
        low, high = probe(m, "dut.low", 8), probe(m, "dut.high", dut.bits - 8)
        carry, borrow = probe(m, "dut.carry", 1), probe(m, "dut.borrow", 1)
        m.d.comb += [
            Assert(dut.any == (count != 0)),
            Assert(((high + carry - borrow) << 8) + low == count),
            Assert(~carry | (low == 0)),
            Assert(~borrow | (low == 255)),
            Cover((count == 2) & dut.down),
        ]
        return m


PROOFS = (
    Proof(
        name="tally",
        promise="A count with a carry on its way is zero exactly when as many went down as up",
        components=(Tally,),
        design=lambda bits: TellsZero(Tally(bits)),
        sizes={"9 bits": 9, "16 bits": 16},
        broken=faults(9, 4, stuck_at(0, "dut.low", 0), late("dut.any")),
    ),
)
