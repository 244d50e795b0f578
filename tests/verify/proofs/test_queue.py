"""Queues and buffers: nothing is lost, doubled or reordered."""

import pytest
from amaranth.hdl import Array, Assert, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take

BITS = 8


class KeepsOrder(Elaboratable):
    """Any payload that enters, chosen at any time, leaves behind just those before it."""

    def __init__(self, dut, *, pipe):
        self.dut = dut
        self.pipe = pipe

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        self.level = level = Signal(range(dut.depth + 2))
        m.d.sync += level.eq(level + enters - leaves)
        m.d.comb += [
            Assert(level <= dut.depth),
            Assert(dut.i.ready == ((level != dut.depth) | (self.pipe & dut.o.ready))),
            Assert(dut.o.valid == (level != 0)),
            Cover(level == dut.depth),
        ]

        self.is_inside = is_inside = Signal()
        self.ahead = ahead = Signal(range(dut.depth))
        self.marked = marked = Signal(BITS)
        m.d.comb += Assert(~is_inside | (ahead < level))
        marks = anything(m, 1, "marks") & enters & ~is_inside
        with m.If(marks):
            m.d.sync += [is_inside.eq(1), marked.eq(dut.i.payload), ahead.eq(level - leaves)]
        with m.If(is_inside & leaves):
            m.d.sync += [
                ahead.eq(Mux(ahead == 0, 0, ahead - 1)),
                is_inside.eq(ahead != 0),
                marked.eq(Mux(ahead == 0, 0, marked)),
            ]
            with m.If(ahead == 0):
                m.d.comb += Assert(dut.o.payload == marked)
                m.d.comb += Cover((marked != 0) & (level == dut.depth))
        return m


class QueueKeepsOrder(KeepsOrder):
    """With what holds of a queue's entries."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        filled = [self.level > k for k in range(self.dut.depth)]
        m.d.comb += Assert(self.dut.valid == Cat(filled))
        with m.If(self.is_inside):
            m.d.comb += Assert(self.dut.entries[self.ahead] == self.marked)
        return m


class BufferKeepsOrder(KeepsOrder):
    """With what holds of a buffer's memory."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        depth = self.dut.depth
        empty = (1 << (depth - 1).bit_length()) - depth
        head = probe(m, "dut.read__addr", range(depth))
        tail = probe(m, "dut.tail", range(depth))
        rows = [probe(m, f"dut.memory[{row}]", BITS) for row in range(depth)]
        m.d.comb += [
            Assert(probe(m, "dut.level", range(empty + depth + 1)) == empty + self.level),
            Assert(head < depth),
            Assert(tail == (head + self.level) % depth),
        ]
        with m.If(self.is_inside):
            m.d.comb += Assert(Array(rows)[(head + self.ahead) % depth] == self.marked)
        return m


QUEUES = pytest.mark.parametrize("depth", [1, 2, 5, 8])
BUFFERS = pytest.mark.parametrize("depth", [2, 3, 5])


@pytest.mark.proof(Queue, "8 bits, depth 1, 2, 5, 8", induction=1)
@pytest.mark.parametrize("pipe", [False, True], ids=["registers", "pipe"])
@QUEUES
def test_a_queue_keeps_order_and_never_holds_more_than_its_depth(formal, depth, pipe):
    formal(QueueKeepsOrder(Queue(BITS, depth, pipe=pipe), pipe=pipe))


@pytest.mark.proof(RowBuffer, "8 bits, depth 2, 3, 5", induction=1)
@BUFFERS
def test_a_buffer_keeps_order_and_never_holds_more_than_its_depth(formal, depth):
    formal(BufferKeepsOrder(RowBuffer(BITS, depth), pipe=True))


@pytest.mark.proof(Queue, "8 bits, depth 5", bounded=10)
@pytest.mark.parametrize(
    ("pipe", "old", "new"),
    [
        (False, "else ~valid[-1]", "else 1"),
        (False, "leaves | ~valid[k]", "leaves"),
        (False, "valid >> 1", "0"),
        (False, "if self.pipe", "if True"),
        (True, "leaves & ~enters", "leaves"),
    ],
)
def test_a_broken_queue_is_refuted(formal, mutated, pipe, old, new):
    formal.refutes(QueueKeepsOrder(mutated(Queue, old, new)(BITS, 5, pipe=pipe), pipe=pipe))


@pytest.mark.proof(RowBuffer, "8 bits, depth 5", bounded=10)
@pytest.mark.parametrize(
    ("old", "new"), [("~level[-1]", "1"), ("index == depth - 1", "index == depth")]
)
def test_a_broken_buffer_is_refuted(formal, mutated, old, new):
    formal.refutes(BufferKeepsOrder(mutated(RowBuffer, old, new)(BITS, 5), pipe=True))
