"""A first-in first-out buffer in a RAM."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart


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
    level : Out, entries in the buffer, the one at the output included
    """

    i: stream.Interface
    o: stream.Interface
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
                "level": Out(range(depth + 2)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        stored = Signal(range(self.depth + 1))  # in the RAM, without the output register
        enters, loads = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~stored[-1]),  # a power of two is stored just when it is full
            enters.eq(self.i.valid & self.i.ready),
            loads.eq((stored != 0) & (~self.o.valid | self.o.ready)),
            write.en.eq(enters),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.en.eq(loads),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
            self.level.eq(stored + self.o.valid),
        ]
        # Valid and ready are late: they only select between sums that are there.
        more, less = (kept_apart(name, stored.shape()) for name in ("more", "less"))
        m.d.comb += [more.eq(stored + 1), less.eq(stored - 1)]
        m.d.sync += [
            stored.eq(Mux(enters == loads, stored, Mux(loads, less, more))),
            self.o.valid.eq(Mux(self.o.ready, loads, self.o.valid | loads)),
        ]
        with m.If(enters):
            m.d.sync += tail.eq(tail + 1)
        with m.If(loads):
            m.d.sync += head.eq(head + 1)
        return m
