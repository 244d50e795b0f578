"""The beats that wait for the plans of their block and of the next."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart


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
        source, is_offered = self.i.payload, self.i.valid
        for k in range(self.depth):
            entry = Signal(self.shape, name=f"entry{k}", reset_less=True)
            # The head leaves late in a cycle; holes are known from its beginning.
            loads, has_hole = Signal(name=f"loads{k}"), kept_apart(f"has_hole{k}")
            m.d.comb += [has_hole.eq(~valid[k:].all()), loads.eq(self.o.ready | has_hole)]
            with m.If(loads):
                m.d.sync += [valid[k].eq(is_offered), entry.eq(source)]
            if k == 0:
                m.d.comb += self.i.ready.eq(loads)
            source, is_offered = entry, valid[k]
        m.d.comb += [self.o.valid.eq(valid[-1]), self.o.payload.eq(source)]
        return m
