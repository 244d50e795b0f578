"""FIFOs and buffers: no payload is lost, duplicated or reordered."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.skid import Skid
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults

BITS = 8


class KeepsOrder(Elaboratable):
    """A payload, picked at the input at any time, leaves after exactly the earlier payloads."""

    def __init__(self, dut, *, pipe):
        self.dut = dut
        self.pipe = pipe

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        entering, leaving = (Value.cast(port.payload) for port in (dut.i, dut.o))
        level = Signal(range(dut.depth + 2))
        m.d.sync += level.eq(level + enters - leaves)
        m.d.comb += [
            Assert(level <= dut.depth),
            Assert(dut.i.ready == ((level != dut.depth) | (self.pipe & dut.o.ready))),
            Assert(dut.o.valid == (level != 0)),
            Cover(level == dut.depth),
        ]

        is_inside = Signal()
        ahead = Signal(range(dut.depth))
        marked = Signal(len(entering))
        m.d.comb += Assert(~is_inside | (ahead < level))
        marks = anything(m, 1, "marks") & enters & ~is_inside
        with m.If(marks):
            m.d.sync += [is_inside.eq(1), marked.eq(entering), ahead.eq(level - leaves)]
        with m.If(is_inside & leaves):
            m.d.sync += [
                ahead.eq(Mux(ahead == 0, 0, ahead - 1)),
                is_inside.eq(ahead != 0),
                marked.eq(Mux(ahead == 0, 0, marked)),
            ]
            with m.If(ahead == 0):
                m.d.comb += Assert(leaving == marked)
                m.d.comb += Cover((marked != 0) & (level == dut.depth))
        return m


class PassesOrKeeps(Elaboratable):
    """A payload leaves in the cycle in which it comes, or it is kept until it leaves."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        entering, leaving = (Value.cast(port.payload) for port in (dut.i, dut.o))
        level, kept = Signal(), Signal(len(entering))
        m.d.sync += level.eq(level + enters - leaves)
        with m.If(enters):
            m.d.sync += kept.eq(entering)
        m.d.comb += [
            Assert(dut.i.ready == ~level),
            Assert(dut.o.valid == (level | dut.i.valid)),
            Assert(~dut.o.valid | (leaving == Mux(level, kept, entering))),
            Cover(level & leaves & (kept != 0)),
            Cover(~level & leaves),
        ]
        return m


PROOFS = (
    Proof(
        name="queue",
        promise="A queue keeps the order and never holds more entries than its depth",
        components=(Queue,),
        design=lambda size: KeepsOrder(
            Queue(BITS, size[0], pipe=size[1], for_cells=len(size) > 2), pipe=size[1]
        ),
        sizes={
            f"8 bits, depth {depth}{name}": (depth, *how)
            for name, how in (("", (False,)), (", pipe", (True,)), (", cells", (False, True)))
            for depth in (1, 2, 5, 8)
        },
        mode=PDR,
        depth=3,
        broken=(
            *faults(
                (5, False),
                10,
                stuck_at(1, "dut.i__ready"),
                stuck_at(0, "dut.valid", 2),
                late("dut.valid", 0),
                late("dut.entry1"),
                inverted("dut.o__payload", 0),
            ),
            *faults((5, True), 10, late("dut.leaves"), stuck_at(0, "dut.valid", 4)),
        ),
    ),
    Proof(
        name="skid",
        promise="A skid passes a payload on at once, or keeps it until it is taken",
        components=(Skid,),
        design=lambda _: PassesOrKeeps(Skid(BITS)),
        sizes={"8 bits": None},
        mode=PDR,
        depth=3,
        broken=faults(
            None,
            10,
            stuck_at(1, "dut.i__ready"),
            late("dut.kept"),
            late("dut.is_kept"),
            inverted("dut.o__payload", 0),
        ),
    ),
    Proof(
        name="row_buffer",
        promise="A buffer keeps the order and never holds more entries than its depth",
        components=(RowBuffer,),
        design=lambda size: KeepsOrder(
            RowBuffer(BITS, size[0], pipe=size[1], in_flip_flops=size[2]), pipe=size[1]
        ),
        sizes={
            f"8 bits, depth {depth}{name}": (depth, pipe, in_flip_flops)
            for name, pipe, in_flip_flops in (
                ("", False, False),
                (", pipe", True, False),
                (", flip-flops", False, True),
                (", pipe, flip-flops", True, True),
            )
            for depth in (2, 3, 5)
        },
        slow=tuple(
            f"8 bits, depth 5{name}"
            for name in ("", ", pipe", ", flip-flops", ", pipe, flip-flops")
        ),
        mode=PDR,
        depth=3,
        broken=faults(
            (5, True, False),
            10,
            stuck_at(1, "dut.i__ready"),
            stuck_at(0, "dut.read__addr", 2),
            late("dut.level"),
        ),
    ),
)
