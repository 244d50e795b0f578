"""The line of beats: no payload is lost, duplicated or reordered, and payloads move on."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults

BITS = 4


class MovesOn(Elaboratable):
    """A payload, picked at the input at any time, leaves after exactly the earlier payloads.

    It is at the output at most ``depth`` cycles later, not counting those in which an earlier
    payload waits there.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        entering, leaving = (Value.cast(port.payload) for port in (dut.i, dut.o))
        level = Signal(range(dut.depth + 2))
        m.d.sync += level.eq(level + enters - leaves)
        m.d.comb += [
            Assert(level <= dut.depth),
            Assert(dut.i.ready == ((level != dut.depth) | dut.o.ready)),
            Assert(~dut.o.valid | (level != 0)),
            Cover(level == dut.depth),
        ]

        is_inside = Signal()
        ahead, age = Signal(range(dut.depth + 1)), Signal(range(dut.depth + 2))
        marked = Signal(len(entering))
        m.d.comb += [
            Assert(~is_inside | (ahead < level)),
            Assert(~is_inside | (ahead != 0) | (age != dut.depth) | dut.o.valid),
        ]
        with m.If(is_inside & (age != dut.depth) & (~dut.o.valid | leaves)):
            m.d.sync += age.eq(age + 1)
        with m.If(anything(m, 1, "marks") & enters & ~is_inside):
            m.d.sync += [
                is_inside.eq(1),
                marked.eq(entering),
                ahead.eq(level - leaves),
                age.eq(1),
            ]
        with m.If(is_inside & leaves):
            m.d.sync += [
                ahead.eq(Mux(ahead == 0, 0, ahead - 1)),
                is_inside.eq(ahead != 0),
            ]
            with m.If(ahead == 0):
                m.d.comb += [Assert(leaving == marked), Cover(marked != 0)]
        return m


PROOFS = (
    Proof(
        name="elastic_line",
        promise="A line of registers keeps the order, loses nothing, and moves on where it can",
        components=(ElasticLine,),
        design=lambda depth: MovesOn(ElasticLine(BITS, depth)),
        sizes={f"4 bits, depth {depth}": depth for depth in (1, 2, 4)},
        mode=PDR,
        depth=3,
        broken=faults(
            4,
            12,
            stuck_at(1, "dut.i__ready"),
            stuck_at(0, "dut.valid", 2),
            stuck_at(0, "dut.has_hole", 1),
            late("dut.entry1"),
            inverted("dut.o__payload", 0),
        ),
    ),
)
