"""Packets of several types: each goes its way."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.zvcplus.mixed.steer import PacketSteer
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, is_one_at_most, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults

BEAT = data.StructLayout({"bits": 2, "last": 1})


def _moves(way):
    return way.valid & way.ready


class _Marked:
    """One select, picked at the input at any time, and the packets in front of it.

    Members
    -------
    is_here : the beat that passes is of its packet
    way : its way
    level : selects that wait
    """

    def __init__(self, m, dut, depth: int, ends):
        enters = offer(m, dut.i_select, "select")
        select = dut.i_select.payload
        # One bit of a select is set.
        m.d.comb += Assume((select != 0) & is_one_at_most(select))
        self.level, ahead = Signal(range(depth + 2)), Signal(range(depth + 1))
        self.way, is_inside = Signal(dut.ways), Signal()
        self.is_here = is_inside & (ahead == 0)
        marks = anything(m, 1, "marks") & enters & ~is_inside
        m.d.sync += self.level.eq(self.level + enters - ends)
        with m.If(marks):
            m.d.sync += [is_inside.eq(1), self.way.eq(select), ahead.eq(self.level - ends)]
        with m.If(is_inside & ends):
            m.d.sync += [
                is_inside.eq(ahead != 0),
                ahead.eq(Mux(ahead == 0, 0, ahead - 1)),
                self.way.eq(Mux(ahead == 0, 0, self.way)),
            ]
        m.d.comb += [
            Assert(self.level <= depth),
            Assert(dut.i_select.ready == (self.level != depth)),
            Assert(~is_inside | (ahead < self.level)),
        ]


class GoesItsWay(Elaboratable):
    """Beats of a packet pass on the way of its select, as they are, and on no other."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        comes = offer(m, dut.i, "i")
        passes = Cat(take(m, way, f"way{k}") for k, way in enumerate(dut.o))
        marked = _Marked(m, dut, 2, comes & dut.i.payload.last)
        valid, ready = Cat(way.valid for way in dut.o), Cat(way.ready for way in dut.o)
        m.d.comb += [
            # A beat that comes in passes on one way, and no beat passes that does not come in.
            Assert(passes.any() == comes),
            Assert(is_one_at_most(passes)),
            Assert(~comes | (marked.level != 0)),
            *(Assert(~_moves(way) | self._equal(way.payload, dut.i.payload)) for way in dut.o),
        ]
        with m.If(marked.is_here):
            m.d.comb += [
                # It comes in when its way takes it, and at no other time.
                Assert(dut.i.ready == (ready & marked.way).any()),
                Assert(valid == Mux(dut.i.valid, marked.way, 0)),
                Cover(comes & dut.i.payload.last & (marked.level == 2)),
                Cover(comes & ~dut.i.payload.last),
            ]
        return m

    @staticmethod
    def _equal(one, other):
        return Value.cast(one) == Value.cast(other)


PROOFS = (
    Proof(
        name="packet_steer",
        promise="Each beat of a packet passes once, unchanged, on the way of the packet's select",
        components=(PacketSteer,),
        design=lambda ways: GoesItsWay(PacketSteer(BEAT, ways)),
        sizes={"2 ways": 2, "4 ways": 4},
        mode=PDR,
        depth=3,
        broken=faults(
            2,
            8,
            stuck_at(1, "dut.i__ready"),
            stuck_at(0, "dut.is_ready"),
            stuck_at(1, "dut.selects.o__ready"),
            inverted("dut.selects.o__payload"),
            late("dut.selects.o__payload"),
        ),
    ),
)
