"""Packets of several types: each goes its way, and the order is kept where ways meet."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.zvcplus.mixed.steer import PacketMerge, PacketSteer
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
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
        m.d.comb += Assume((select != 0) & ((select & (select - 1)) == 0))
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
            Assert((passes & (passes - 1)) == 0),
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


class KeepsTheirOrder(Elaboratable):
    """Packets leave in the order of their selects, whole, each from its way."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        passes = Cat(offer(m, way, f"way{k}") for k, way in enumerate(dut.i))
        leaves = take(m, dut.o, "o")
        is_last = dut.o.payload.last if dut.is_framed else 1
        marked = _Marked(m, dut, dut.depth, leaves & is_last)
        valid = Cat(way.valid for way in dut.i)
        m.d.comb += [
            # A beat that leaves comes from one way, and no beat is taken that does not leave.
            Assert(passes.any() == leaves),
            Assert((passes & (passes - 1)) == 0),
            Assert(~leaves | (marked.level != 0)),
            *(
                Assert(~_moves(way) | (Value.cast(way.payload) == Value.cast(dut.o.payload)))
                for way in dut.i
            ),
        ]
        with m.If(marked.is_here):
            m.d.comb += [
                # It leaves when its way has it, and no other way is taken from.
                Assert(dut.o.valid == (valid & marked.way).any()),
                Assert(~leaves | (passes == marked.way)),
                Assert(dut.select == marked.way),
                Cover(leaves & is_last & (marked.level == dut.depth)),
            ]
        return m


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
    Proof(
        name="packet_merge",
        promise="Packets leave in the order of their selects, whole and unchanged, from their ways",
        components=(PacketMerge,),
        design=lambda size: KeepsTheirOrder(PacketMerge(BEAT, size[0], size[1], is_framed=size[2])),
        sizes={
            "2 ways, 3 packets": (2, 3, True),
            "4 ways, 2 packets": (4, 2, True),
            "2 ways, packets of a beat": (2, 3, False),
        },
        mode=PDR,
        depth=3,
        broken=faults(
            (2, 3, True),
            8,
            stuck_at(1, "dut.has_beat"),
            stuck_at(1, "dut.selects.o__ready"),
            stuck_at(0, "dut.selects.o__valid"),
            inverted("dut.selects.o__payload"),
            late("dut.selects.o__payload"),
        ),
    ),
)
