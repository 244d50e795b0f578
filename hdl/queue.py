"""A queue in a small memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Queue(wiring.Component):
    """First-in first-out buffer in a small memory (LUT RAM on an FPGA).

    Throughput one transfer a cycle; latency one cycle. ``i.ready`` and ``o.valid`` come from
    registered pointers, so no path runs through from one side to the other; ``o.payload`` is read
    combinationally from the memory.

    Parameters
    ----------
    shape : ShapeLike
        What is queued.
    depth : int
        Entries, a power of two of at least 2.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    def __init__(self, shape, depth: int):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(
                f"Depth of a queue must be a power of two of at least 2, not {depth!r}"
            )
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        head, tail = Signal(range(2 * self.depth)), Signal(range(2 * self.depth))
        m.d.comb += [
            self.i.ready.eq(tail != head ^ self.depth),
            self.o.valid.eq(tail != head),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += tail.eq(tail + 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += head.eq(head + 1)
        return m
