"""Stall methods of pipelines and buffers for waiting words, to measure their cost.

Every component has streams ``i`` and ``o`` of ``bits`` bits, keeps their order, and has a
throughput of one word a cycle.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.buffer import RowBuffer


class Passage(wiring.Component):
    """Streams in and out.

    Parameters
    ----------
    bits : int
        Bits of a word.
    depth : int
        Number of registers in the path of a word, or number of words that fit in the buffer.

    Members
    -------
    i, o : In, Out streams of ``bits`` bits
    """

    def __init__(self, bits: int, depth: int = 1):
        self.bits = bits
        self.depth = depth
        super().__init__({"i": In(stream.Signature(bits)), "o": Out(stream.Signature(bits))})


class Skid(Passage):
    """Register in both directions: cuts valid, payload and ready. Latency one cycle, room for two.

    Every unit without a combinational path through it needs this register at its ports.
    """

    def elaborate(self, platform):
        m = Module()
        is_free = Signal(init=1)
        spare = Signal(self.bits, reset_less=True)
        moves = ~self.o.valid | self.o.ready
        m.d.comb += self.i.ready.eq(is_free)
        m.d.sync += is_free.eq(moves | (is_free & ~self.i.valid))
        with m.If(is_free):
            m.d.sync += spare.eq(self.i.payload)
        with m.If(moves):
            m.d.sync += [
                self.o.valid.eq(self.i.valid | ~is_free),
                self.o.payload.eq(Mux(is_free, self.i.payload, spare)),
            ]
        return m


class Enabled(Passage):
    """``depth`` registers with one enable: the sink's ready."""

    def elaborate(self, platform):
        m = Module()
        enable = Signal()
        m.d.comb += [enable.eq(~self.o.valid | self.o.ready), self.i.ready.eq(enable)]
        valid, payload = self.i.valid, self.i.payload
        for stage in range(self.depth):
            valid, payload = _stage(m, stage, enable, valid, payload)
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(payload)]
        return m


class Elastic(Passage):
    """``depth`` registers, each with its own enable: an empty one fills while others wait."""

    def elaborate(self, platform):
        m = Module()
        enables = [Signal(name=f"enable{stage}") for stage in range(self.depth)]
        valid, payload, valids = self.i.valid, self.i.payload, []
        for stage, enable in enumerate(enables):
            valid, payload = _stage(m, stage, enable, valid, payload)
            valids.append(valid)
        for stage, enable in enumerate(enables):
            behind = enables[stage + 1] if stage + 1 < self.depth else self.o.ready
            m.d.comb += enable.eq(~valids[stage] | behind)
        m.d.comb += [
            self.i.ready.eq(enables[0]),
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]
        return m


class EnabledBehindSkid(Passage):
    """:class:`Enabled` with a :class:`Skid` before it, which cuts its ready."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.skid = skid = Skid(self.bits)
        m.submodules.pipeline = pipeline = Enabled(self.bits, self.depth)
        wiring.connect(m, wiring.flipped(self.i), skid.i)
        wiring.connect(m, skid.o, pipeline.i)
        wiring.connect(m, pipeline.o, wiring.flipped(self.o))
        return m


class Skids(Passage):
    """``depth`` skids in a row."""

    def elaborate(self, platform):
        m = Module()
        source = wiring.flipped(self.i)
        for stage in range(self.depth):
            m.submodules[f"skid{stage}"] = skid = Skid(self.bits)
            wiring.connect(m, source, skid.i)
            source = skid.o
        wiring.connect(m, source, wiring.flipped(self.o))
        return m


class Credits(Passage):
    """``depth`` registers that never stall, before a buffer with space for all words in flight."""

    def elaborate(self, platform):
        m = Module()
        # More words, for the cycles until the credit of a word returns.
        room = self.depth + 2
        m.submodules.buffer = buffer = RowBuffer(self.bits, room)
        enters, leaves = Signal(), Signal()
        credits_left = Signal(range(room + 1), init=room)
        m.d.comb += [
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            credits_left.eq(credits_left - enters + leaves),
            self.i.ready.eq(credits_left - enters + leaves != 0),
        ]
        valid, payload = enters, self.i.payload
        for stage in range(self.depth):
            valid, payload = _stage(m, stage, 1, valid, payload)
        m.d.comb += [buffer.i.valid.eq(valid), buffer.i.payload.eq(payload)]
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        return m


class Delay(wiring.Component):
    """``depth`` registers that never stall: only storage.

    Members
    -------
    i, o : In, Out, ``bits`` bits
    """

    def __init__(self, bits: int, depth: int):
        self.depth = depth
        super().__init__({"i": In(bits), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        payload = self.i
        for stage in range(self.depth):
            _, payload = _stage(m, stage, 1, 0, payload)
        m.d.comb += self.o.eq(payload)
        return m


class Registers(Passage):
    """Buffer of ``depth`` words in flip-flops, written and read by pointers."""

    def elaborate(self, platform):
        m = Module()
        rows = [Signal(self.bits, name=f"row{k}", reset_less=True) for k in range(self.depth)]
        head, _, tail, _, enters, _ = _pointers(m, self)
        for k, row in enumerate(rows):
            with m.If(enters & (tail == k)):
                m.d.sync += row.eq(self.i.payload)
        with m.Switch(head):
            for k, row in enumerate(rows):
                with m.Case(k):
                    m.d.comb += self.o.payload.eq(row)
        return m


class BlockRam(Passage):
    """Buffer of ``depth`` words in block memory, read a cycle ahead. Latency two cycles."""

    def elaborate(self, platform):
        m = Module()
        attributes = {"ram_style": "block"}
        m.submodules.memory = memory = Memory(
            shape=self.bits, depth=self.depth, init=[], attrs=attributes
        )
        write, read = memory.write_port(), memory.read_port()
        valid = Signal()
        _, next_head, tail, level, enters, leaves = _pointers(m, self, valid)
        # A word that is written in this cycle can be read in the next.
        m.d.sync += valid.eq(level - leaves != 0)
        m.d.comb += [
            write.en.eq(enters),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.addr.eq(next_head),
            self.o.payload.eq(read.data),
        ]
        return m


def _stage(m: Module, stage: int, enable, valid, payload):
    """Register for a word and its valid bit."""
    held_valid = Signal(name=f"valid{stage}")
    held = Signal(len(payload), name=f"payload{stage}", reset_less=True)
    with m.If(enable):
        m.d.sync += [held_valid.eq(valid), held.eq(payload)]
    return held_valid, held


def _pointers(m: Module, buffer: Passage, valid=None) -> tuple:
    """Handshakes of a buffer: head, next head, tail, level, a word enters, a word leaves."""
    head, tail = Signal(range(buffer.depth)), Signal(range(buffer.depth))
    next_head = Signal.like(head)
    level = Signal(range(buffer.depth + 1))
    enters, leaves = Signal(), Signal()
    last = buffer.depth - 1
    m.d.comb += [
        buffer.i.ready.eq(level != buffer.depth),
        buffer.o.valid.eq(level != 0 if valid is None else valid),
        enters.eq(buffer.i.valid & buffer.i.ready),
        leaves.eq(buffer.o.valid & buffer.o.ready),
        next_head.eq(Mux(leaves, Mux(head == last, 0, head + 1), head)),
    ]
    m.d.sync += [level.eq(level + enters - leaves), head.eq(next_head)]
    with m.If(enters):
        m.d.sync += tail.eq(Mux(tail == last, 0, tail + 1))
    return head, next_head, tail, level, enters, leaves
