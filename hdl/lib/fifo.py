"""A first-in first-out buffer in a RAM."""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Fifo(wiring.Component):
    """First-in first-out buffer in a RAM with one write and one registered read port.

    Throughput one transfer a cycle; latency 2 cycles. ``i.ready`` and ``o.valid`` come from
    registers, ``o.payload`` from the RAM's output register, which holds one entry more.

    Parameters
    ----------
    shape : ShapeLike
        What is queued.
    depth : int
        Entries of the RAM, a power of two, at least 2.

    Members
    -------
    i, o : In, Out streams of ``shape``
    empty : Out, no entry is in the buffer, and none at the output
    level : Out, entries in the buffer, the one at the output included
    """

    i: stream.Interface
    o: stream.Interface
    empty: Signal
    level: Signal

    def __init__(self, shape, depth: int):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"Depth of a FIFO must be a power of two from 2 on, not {depth!r}")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "empty": Out(1),
                "level": Out(range(depth + 2)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        after_head, after_tail = Signal.like(head), Signal.like(tail)
        # Of the RAM, without the output register. What enters and leaves is known late: it only
        # selects between what the places say.
        is_full, has_some = (Signal(name=name) for name in ("is_full", "has_some"))
        stored = Signal(range(self.depth + 1))
        enters, loads = Signal(), Signal()
        m.d.comb += [
            after_head.eq(head + 1),
            after_tail.eq(tail + 1),
            stored.eq(Mux(is_full, self.depth, (tail - head)[: len(tail)])),
            self.i.ready.eq(~is_full),
            enters.eq(self.i.valid & self.i.ready),
            loads.eq(has_some & (~self.o.valid | self.o.ready)),
            write.en.eq(enters),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.en.eq(loads),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
            self.empty.eq(~has_some & ~self.o.valid),
            self.level.eq(stored + self.o.valid),
        ]
        m.d.sync += [
            has_some.eq(enters | (has_some & ~(loads & (after_head == tail)))),
            is_full.eq(~loads & (is_full | (enters & (after_tail == head)))),
            self.o.valid.eq(loads | (self.o.valid & ~self.o.ready)),
        ]
        with m.If(enters):
            m.d.sync += tail.eq(after_tail)
        with m.If(loads):
            m.d.sync += head.eq(after_head)
        if platform == "formal":
            m.d.comb += [
                Assert(has_some == (is_full | (head != tail))),
                Assert(~is_full | (head == tail)),
            ]
        return m
