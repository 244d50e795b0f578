"""A queue whose entries move up, so that its head is in registers."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class Queue(wiring.Component):
    """First-in first-out buffer of registers: when an entry leaves, all others move up.

    For narrow payloads: the head and all entries behind it are read without a multiplexer. Latency
    one cycle, throughput one transfer a cycle; ``i.ready`` and ``o`` come from registers, but
    for ``i.ready`` with ``pipe``.

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    depth : int
        Entries, at least 1. With one entry the throughput is one transfer in two cycles.
    pipe : bool
        A full queue accepts an entry as one leaves: ``i.ready`` follows ``o.ready`` through a
        gate, and one entry is enough for a transfer a cycle.
    for_cells : bool
        The last entry loads only while it is empty, so that a late ``o.ready`` drives less.

    Members
    -------
    i, o : In, Out streams of ``shape``
    entries : Out, array of ``depth`` payloads, the head first
    valid : Out, a bit per entry, contiguous from the head
    """

    i: stream.Interface
    o: stream.Interface
    entries: data.View
    valid: Signal

    def __init__(self, shape, depth: int, *, pipe: bool = False, for_cells: bool = False):
        if depth < 1:
            raise ValueError(f"Depth of a queue must be at least 1, not {depth!r}")
        self.shape = shape
        self.depth = depth
        self.pipe = pipe
        self.for_cells = for_cells
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "entries": Out(data.ArrayLayout(shape, depth)),
                "valid": Out(depth),
            }
        )

    @property
    def fills(self) -> Value:
        """The queue is full in the next cycle, unless something leaves."""
        last = self.valid[-1]
        return last | (self.valid[-2] & self.i.valid) if self.depth > 1 else last | self.i.valid

    def elaborate(self, platform):
        m = Module()
        entries = [Signal(self.shape, name=f"entry{k}", reset_less=True) for k in range(self.depth)]
        valid = Signal(self.depth)
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~valid[-1] | self.o.ready if self.pipe else ~valid[-1]),
            self.o.valid.eq(valid[0]),
            self.o.payload.eq(entries[0]),
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
            self.valid.eq(valid),
        ]
        with m.If(enters & ~leaves):
            m.d.sync += valid.eq(valid << 1 | 1)
        with m.Elif(leaves & ~enters):
            m.d.sync += valid.eq(valid >> 1)
        for k, entry in enumerate(entries):
            behind = entries[k + 1] if k + 1 < self.depth else self.i.payload
            is_filled_behind = valid[k + 1] if k + 1 < self.depth else 0
            m.d.comb += self.entries[k].eq(entry)
            # An empty entry loads any offered value; it counts only when `valid` is set. Nothing
            # moves to the last, unless an entry can come in as it is emptied.
            is_idle = self.for_cells and not self.pipe and k + 1 == self.depth
            with m.If(~valid[k] if is_idle else leaves | ~valid[k]):
                m.d.sync += entry.eq(Mux(is_filled_behind, behind, self.i.payload))
        return m
