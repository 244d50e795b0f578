"""Packets of one stream go to one of several ways, and come back in their order."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import one_of


class PacketSteer(wiring.Component):
    """Send each packet the way that its select says.

    Throughput one beat a cycle, latency none: ``o`` follows ``i`` combinationally, and ``i.ready``
    the way's ``ready``. Selects wait in a queue of two, so that beats pass from the cycle behind
    their select on; ``i_select.ready`` comes from a register.

    Parameters
    ----------
    shape : Layout
        Beat, with a member ``last``.
    ways : int
        Ways, at least 2.

    Members
    -------
    i_select : In stream of ``ways`` bits, one for each packet, of which one is set
    i : In stream of ``shape``
    o : Out, array of streams of ``shape``
    """

    i_select: stream.Interface
    i: stream.Interface
    o: list[stream.Interface]

    def __init__(self, shape: data.Layout, ways: int):
        self.shape = shape
        self.ways = ways
        super().__init__(
            {
                "i_select": In(stream.Signature(ways)),
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)).array(ways),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.selects = selects = Queue(self.ways, 2)
        wiring.connect(m, wiring.flipped(self.i_select), selects.i)
        select, beat = selects.o.payload, self.i.payload
        is_ready = Signal()
        m.d.comb += [
            is_ready.eq((Cat(way.ready for way in self.o) & select).any()),
            self.i.ready.eq(selects.o.valid & is_ready),
            selects.o.ready.eq(self.i.valid & is_ready & beat.last),
        ]
        for chosen, way in zip(select, self.o, strict=True):
            m.d.comb += [
                way.valid.eq(self.i.valid & selects.o.valid & chosen),
                way.payload.eq(beat),
            ]
        return m


class PacketMerge(wiring.Component):
    """Take packets from several ways, in the order of their selects.

    Throughput one beat a cycle, latency none: ``o`` is combinational from registers and the ways;
    ``i_select.ready`` comes from a register. A way waits until all packets before have passed.

    Parameters
    ----------
    shape : ShapeLike
        Beat, with a member ``last`` if it is framed.
    ways : int
        Ways, at least 2.
    depth : int
        Selects that wait, those of the packet that passes included: packets on their ways, at most.
    is_framed : bool
        Packets have many beats; else each beat is one.

    Members
    -------
    i_select : In stream of ``ways`` bits, one for each packet, of which one is set
    i : In, array of streams of ``shape``
    o : Out stream of ``shape``
    select : Out, the way of the beat at ``o``
    """

    i_select: stream.Interface
    i: list[stream.Interface]
    o: stream.Interface
    select: Signal

    def __init__(self, shape, ways: int, depth: int, *, is_framed: bool = True):
        self.shape = shape
        self.ways = ways
        self.depth = depth
        self.is_framed = is_framed
        super().__init__(
            {
                "i_select": In(stream.Signature(ways)),
                "i": In(stream.Signature(shape)).array(ways),
                "o": Out(stream.Signature(shape)),
                "select": Out(ways),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.selects = selects = Queue(self.ways, self.depth)
        wiring.connect(m, wiring.flipped(self.i_select), selects.i)
        select, beat = selects.o.payload, self.o.payload
        has_beat = Signal()
        is_last = beat.last if self.is_framed else 1
        m.d.comb += [
            self.select.eq(select),
            has_beat.eq((Cat(way.valid for way in self.i) & select).any()),
            self.o.valid.eq(selects.o.valid & has_beat),
            Value.cast(beat).eq(one_of(select, [Value.cast(way.payload) for way in self.i])),
            selects.o.ready.eq(has_beat & self.o.ready & is_last),
        ]
        for chosen, way in zip(select, self.i, strict=True):
            m.d.comb += way.ready.eq(selects.o.valid & chosen & self.o.ready)
        return m
