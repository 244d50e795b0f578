"""FIFOs in a RAM: no payload is lost, duplicated or reordered, and the level is exact."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.fifo import Fifo
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults

BITS = 4


class KeepsOrder(Elaboratable):
    """A payload, picked at the input at any time, leaves after exactly the earlier payloads.

    An entry is at the output two cycles after it entered an empty FIFO.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        most = dut.depth + 1
        level, was_inside = Signal(range(most + 2)), Signal()
        m.d.sync += [level.eq(level + enters - leaves), was_inside.eq(level - leaves != 0)]
        m.d.comb += [
            Assert(level <= most),
            Assert(dut.level == level),
            Assert(dut.empty == (level == 0)),
            Assert(dut.i.ready == (level - dut.o.valid != dut.depth)),
            Assert(~was_inside | dut.o.valid),
            Assert((level != 0) | ~dut.o.valid),
            Cover(level == most),
        ]
        is_inside, ahead, marked = Signal(), Signal(range(most + 1)), Signal(BITS)
        m.d.comb += Assert(~is_inside | (ahead < level))
        with m.If(anything(m, 1, "marks") & enters & ~is_inside):
            m.d.sync += [is_inside.eq(1), marked.eq(dut.i.payload), ahead.eq(level - leaves)]
        with m.If(is_inside & leaves):
            m.d.sync += [
                ahead.eq(Mux(ahead == 0, 0, ahead - 1)),
                is_inside.eq(ahead != 0),
                marked.eq(Mux(ahead == 0, 0, marked)),
            ]
            with m.If(ahead == 0):
                m.d.comb += [Assert(dut.o.payload == marked), Cover((marked != 0) & (level > 2))]
        return m


PROOFS = (
    Proof(
        name="fifo",
        promise="A FIFO in a RAM keeps the order, loses nothing, and knows its level",
        components=(Fifo,),
        design=lambda depth: KeepsOrder(Fifo(BITS, depth)),
        sizes={f"4 bits, depth {depth}": depth for depth in (2, 4)},
        slow=("4 bits, depth 4",),
        mode=PDR,
        depth=3,
        broken=faults(
            2,
            10,
            stuck_at(1, "dut.i__ready"),
            late("dut.is_full"),
            late("dut.has_some"),
            stuck_at(0, "dut.read__addr"),
            inverted("dut.o__payload", 0),
        ),
    ),
)
