"""Packets of one stream go to one of several ways."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue


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
