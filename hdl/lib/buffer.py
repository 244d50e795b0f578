"""A queue in a small memory."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class RowBuffer(wiring.Component):
    """First-in first-out buffer in a small memory: LUT RAM on an FPGA, flip-flops on an ASIC.

    Throughput one transfer a cycle; latency one cycle. ``o.valid`` comes from a register,
    ``o.payload`` is read combinationally from the memory.

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    depth : int
        Entries, at least 2.
    pipe : bool
        A full buffer accepts an entry while another leaves: ``i.ready`` follows ``o.ready`` through
        a gate. Else ``i.ready`` comes from a register.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape, depth: int, *, pipe: bool = True):
        if depth < 2:
            raise ValueError(f"Depth of a buffer must be at least 2, not {depth!r}")
        self.shape = shape
        self.depth = depth
        self.pipe = pipe
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        # Entries, counted from where a full buffer has the highest bit set.
        empty = (1 << (self.depth - 1).bit_length()) - self.depth
        level = Signal(range(empty + self.depth + 1), init=empty)
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~level[-1] | self.o.ready if self.pipe else ~level[-1]),
            self.o.valid.eq(level != empty),
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
            write.en.eq(enters),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
        ]
        m.d.sync += level.eq(level + enters - leaves)
        with m.If(enters):
            m.d.sync += tail.eq(_after(tail, self.depth))
        with m.If(leaves):
            m.d.sync += head.eq(_after(head, self.depth))
        return m


def _after(index, depth):
    return Mux(index == depth - 1, 0, index + 1)
