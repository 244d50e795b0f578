"""A register for what its taker has no time for."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Skid(wiring.Component):
    """Pass a payload on in the cycle in which it comes, or keep it until it is taken.

    Throughput one transfer a cycle, latency none: ``o`` follows ``i`` combinationally. ``i.ready``
    comes from a register.

    Parameters
    ----------
    shape : ShapeLike
        Payload.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        is_kept = Signal()
        kept = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~is_kept),
            self.o.valid.eq(is_kept | self.i.valid),
            self.o.payload.eq(Mux(is_kept, kept, self.i.payload)),
        ]
        m.d.sync += is_kept.eq(self.o.valid & ~self.o.ready)
        with m.If(~is_kept):
            m.d.sync += kept.eq(self.i.payload)
        return m
