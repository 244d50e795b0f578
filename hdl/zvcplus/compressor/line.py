"""The beats that wait for the plans of their block and of the next."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class ElasticLine(wiring.Component):
    """First-in first-out buffer of registers in a row: each entry moves on when there is space.

    For data that wait for a fixed time anyway: an entry has one multiplexer, its enable, and the
    head is read without any. Throughput one transfer a cycle, latency ``depth`` cycles. ``o`` comes
    from registers; ``i.ready`` follows ``o.ready`` through a gate.

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    depth : int
        Entries, at least 1.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape, depth: int):
        if depth < 1:
            raise ValueError(f"Depth of a line must be at least 1, not {depth!r}")
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        valid = Signal(self.depth)  # the head is the last
        # An entry from here to the head is empty. In registers: synthesis would else make a chain
        # of enables, each from that of the entry behind.
        has_hole = Signal(self.depth, init=(1 << self.depth) - 1)
        source = self.i.payload
        for k in range(self.depth):
            entry = Signal(self.shape, name=f"entry{k}", reset_less=True)
            loads = Signal(name=f"loads{k}")
            m.d.comb += loads.eq(self.o.ready | has_hole[k])
            with m.If(loads):
                m.d.sync += entry.eq(source)
            if k == 0:
                m.d.comb += self.i.ready.eq(loads)
            source = entry
        # Both next states, because it is known late whether the head leaves.
        moved = Cat(self.i.valid, valid)[: self.depth]
        settled = (moved & has_hole) | (valid & ~has_hole)
        m.d.sync += [
            valid.eq(Mux(self.o.ready, moved, settled)),
            has_hole.eq(Mux(self.o.ready, _holes(moved), _holes(settled))),
        ]
        m.d.comb += [self.o.valid.eq(valid[-1]), self.o.payload.eq(source)]
        return m


def _holes(valid):
    """A bit per entry: one from here to the head is empty."""
    return Cat(~valid[k:].all() for k in range(len(valid)))
