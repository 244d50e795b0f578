"""A queue in a small memory."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import one_of


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
    in_flip_flops : bool
        Rows of flip-flops, selected with a bit per row, in place of a memory: smaller and faster in
        standard cells, larger on an FPGA.
    pipe : bool
        A full buffer accepts an entry while another leaves: ``i.ready`` follows ``o.ready`` through
        a gate. Else ``i.ready`` comes from a register.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape, depth: int, *, pipe: bool = True, in_flip_flops: bool = False):
        if depth < 2:
            raise ValueError(f"Depth of a buffer must be at least 2, not {depth!r}")
        self.shape = shape
        self.depth = depth
        self.pipe = pipe
        self.in_flip_flops = in_flip_flops
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        if self.in_flip_flops:
            return self._with_flip_flops(m)
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

    def _with_flip_flops(self, m):
        """The buffer with entries in flip-flops, and a bit per entry for the newest and oldest."""
        # Entries, counted from where a full buffer has the highest bit set.
        empty = (1 << (self.depth - 1).bit_length()) - self.depth
        level = Signal(range(empty + self.depth + 1), init=empty)
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~level[-1] | self.o.ready if self.pipe else ~level[-1]),
            self.o.valid.eq(level != empty),
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += level.eq(level + enters - leaves)
        entries = [Signal(self.shape, name=f"row{k}", reset_less=True) for k in range(self.depth)]
        head = Signal(self.depth, init=1)
        tail = Signal(self.depth, init=1)
        # Without `pipe`, the next free entry loads in each cycle: whether a payload comes is late.
        loads = enters if self.pipe else self.i.ready
        for k, entry in enumerate(entries):
            with m.If(loads & tail[k]):
                m.d.sync += entry.eq(self.i.payload)
        stored = one_of(head, [Value.cast(entry) for entry in entries])
        m.d.comb += Value.cast(self.o.payload).eq(stored)
        for moves, index in ((enters, tail), (leaves, head)):
            with m.If(moves):
                m.d.sync += index.eq(index.rotate_left(1))
        return m


def _after(index, depth):
    return Mux(index == depth - 1, 0, index + 1)
