"""Bursts hold each word of a stream once, in order, and none crosses its border."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.offload.write.cut import BurstCutter
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import PDR, Proof, faults

ROUNDS = 2  # bits of the model's counts above those of a block


class CutsStreams(Elaboratable):
    """Rows of any counts come at any time, and the port runs dry at any time.

    A stream begins where a row may begin, and not before the one before has ended. The model counts
    the words that came, and those that are in a burst that has ended.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, piece = self.dut, self.dut.o.payload
        m.submodules.dut = elaborated(dut, platform)
        bits, low = len(dut.place), dut.part_words.bit_length() - 1
        came, done = (Signal(bits + ROUNDS, name=name) for name in ("came", "done"))
        has_begun, has_ended = Signal(), Signal(init=1)  # the stream has a burst; it has no rows
        leave_open(m, dut, "start", "place", "valid", "count", "is_early", "flush")
        m.d.comb += [
            dut.o.ready.eq(1),
            Assume(dut.count <= dut.row_words),
            # A row never begins a burst that it ends.
            Assume(~dut.start | (dut.place % dut.row_words == 0)),
            Assume(~dut.start | (~dut.valid & ~dut.is_open)),
            Assume(~dut.flush | (~dut.valid & ~dut.start)),
            Assume(~dut.valid | ~has_ended),
        ]
        words, size, after = (Signal.like(came, name=name) for name in ("words", "size", "after"))
        done_after = Signal.like(came)
        m.d.comb += [
            words.eq(Mux(dut.valid, dut.count, 0)),
            after.eq(came + words),
            size.eq(piece.last - piece.first + 1),
            done_after.eq(Mux(dut.o.valid, done + size, done)),
        ]
        m.d.sync += [
            came.eq(Mux(dut.start, dut.place, after)),
            done.eq(Mux(dut.start, dut.place, done_after)),
            has_begun.eq((has_begun | dut.o.valid) & ~dut.start),
            has_ended.eq((has_ended | dut.flush) & ~dut.start),
        ]
        crosses = after[low:] != came[low:]
        leaves_block = after[bits:] != came[bits:]
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(piece.first == done[:bits]),
                Assert(piece.first <= piece.last),
                Assert(piece.begins == ~has_begun),
                # It has come, and what ends it is a border, or the stream's end.
                Assert((after - done_after)[-1] == 0),
                Assert(Mux(dut.flush, done_after == after, done_after[:low] == 0)),
                Cover((piece.first == 0) & piece.last.all()),
                Cover(piece.begins & (piece.first != 0) & ~piece.last.all() & ~dut.flush)
                if dut.part_words < dut.block_words
                else Cover(dut.opens),
                Cover(dut.flush & ~piece.begins),
            ]
        m.d.comb += [
            Assert(~(leaves_block | (crosses & dut.is_early)) | dut.o.valid),
            Assert(~(dut.flush & dut.is_open) | dut.o.valid),
            # Each burst is told of once, with a word of its own.
            Assert(dut.is_open + dut.opens - dut.o.valid == (after != done_after)),
            Assert(~dut.opens | (words != 0)),
        ]
        return m


PROOFS = (
    Proof(
        name="burst_cutter",
        promise="Bursts hold each word of a stream once, in order, and end at borders or its end",
        components=(BurstCutter,),
        design=lambda size: CutsStreams(BurstCutter(*size)),
        sizes={
            "rows of 2 words, blocks of 8": (2, 8, 4),
            "rows of 1 word, blocks of 16": (1, 16, 16),
            "rows of 16 words, blocks of 128": (16, 128, 32),
        },
        mode=PDR,
        depth=8,
        broken=faults(
            (2, 8, 4),
            12,
            stuck_at(0, "dut.closes"),
            stuck_at(0, "dut.opens"),
            late("dut.begins"),
            late("dut.first"),
            inverted("dut.o__payload", 0),
            stuck_at(0, "dut.has_rest"),
        ),
    ),
)
