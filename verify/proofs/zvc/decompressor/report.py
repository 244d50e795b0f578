"""The status of the decompressor, compared with a model that checks a packet block by block."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.format import ErrorCode
from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader.reader import ReadBeat
from cdma.hdl.zvc.decompressor.report import DecompressorReport
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Reports(Elaboratable):
    """The status has the error of the first bad block and the place where the block begins.

    A mask past the end of the packet has priority over missing words. Without a bad block, the
    place is the end of the used words, and trailing words are the error. The input beats are
    unconstrained.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        read, tags = dut.read, dut.read.tags
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            read.as_value().eq(anything(m, ReadBeat(dut.config).size, "any_read")),
        ]

        # State of the packet: its words; the first error in earlier blocks and the start of that
        # block; the start and the error flags of the current block.
        is_fresh, words = Signal(init=1), Signal(COUNT_BITS)
        error, start = Signal(2), Signal(COUNT_BITS)
        block_start, is_past_end, is_truncated = Signal(COUNT_BITS), Signal(), Signal()
        block_error = _error(is_past_end, is_truncated)

        begins = is_fresh | tags.first
        now_past_end = (is_past_end & ~begins) | tags.past_end
        now_truncated = (
            (is_truncated & ~begins)
            | tags.truncated
            | (read.has_words & (read.behind > read.there))
        )
        before = Mux(is_fresh, 0, words)
        known, known_start = Signal(2), Signal(COUNT_BITS)
        with m.If(~is_fresh):
            closes = tags.first & (error == ErrorCode.NONE)
            m.d.comb += known.eq(Mux(closes, block_error, error))
            m.d.comb += known_start.eq(Mux(closes, block_start, start))
        now_start = Mux(begins, before, block_start)
        with m.If(dut.enable):
            m.d.sync += [
                is_fresh.eq(tags.last),
                words.eq(before + read.used),
                error.eq(known),
                start.eq(known_start),
                block_start.eq(now_start),
                is_past_end.eq(now_past_end),
                is_truncated.eq(now_truncated),
            ]

        # Expected status of the last packet that ended.
        is_owed, owed, offset = Signal(), Signal(2), Signal(COUNT_BITS)
        is_trailing = (read.behind < read.there) | read.has_more
        with m.If(dut.enable & tags.last):
            m.d.sync += is_owed.eq(1)
            with m.If(known != ErrorCode.NONE):
                m.d.sync += [owed.eq(known), offset.eq(known_start)]
            with m.Elif(now_past_end | now_truncated):
                m.d.sync += [owed.eq(_error(now_past_end, now_truncated)), offset.eq(now_start)]
            with m.Else():
                m.d.sync += owed.eq(Mux(is_trailing, ErrorCode.TRAILING, ErrorCode.NONE))
                m.d.sync += offset.eq(before + read.used)
        with m.If(is_fresh & is_owed):
            m.d.comb += [
                Assert(dut.status.error == owed),
                Assert(dut.status.bytes == (offset * dut.config.format.word_bytes)[:COUNT_BITS]),
                *(
                    Cover((owed == code) & (offset != 0))
                    for code in range(ErrorCode.MASK_PAST_END + 1)
                ),
                Cover((owed == ErrorCode.MASK_PAST_END) & is_truncated & (offset != 0)),
            ]

        # Invariants of the registers.
        is_clean = error == ErrorCode.NONE
        is_here = probe(m, "dut.is_here", 1)
        m.d.comb += [
            Assert(probe(m, "dut.is_fresh", 1) == is_fresh),
            Assert(error != ErrorCode.TRAILING),
        ]
        m.d.comb += Assert(probe(m, "dut.used.value", COUNT_BITS) == words)
        for at in range(len(read.used), COUNT_BITS - PART_BITS, PART_BITS):
            is_full = probe(m, f"dut.used.is_full{at}", 1)
            m.d.comb += Assert(is_full == words[at : at + PART_BITS].all())
        with m.If(is_owed | ~is_fresh):
            m.d.comb += Assert(probe(m, "dut.restarts", 1) == is_fresh)
        with m.Else():
            m.d.comb += Assert(words == 0)
        with m.If(is_fresh & is_owed):
            is_in_block = (owed == ErrorCode.TRUNCATED) | (owed == ErrorCode.MASK_PAST_END)
            m.d.comb += Assert(is_in_block | (offset == words))
        with m.If(~is_fresh):
            first_start = Mux(is_clean, block_start, start)
            m.d.comb += [
                Assert(probe(m, "dut.error", 2) == Mux(is_clean, block_error, error)),
                Assert(probe(m, "dut.block_start", COUNT_BITS) == first_start),
                Assert(~is_here | (is_clean & (block_error != ErrorCode.NONE))),
                Assert(is_here | ~is_clean | (block_error != ErrorCode.TRUNCATED)),
            ]
        return m


def _error(is_past_end, is_truncated):
    """Error code of a block."""
    truncated = Mux(is_truncated, ErrorCode.TRUNCATED, ErrorCode.NONE)
    return Mux(is_past_end, ErrorCode.MASK_PAST_END, truncated)


PROOFS = (
    Proof(
        name="decompressor_report",
        promise="The status of a packet reports its first error and the place of the error",
        components=(DecompressorReport,),
        design=lambda config: Reports(DecompressorReport(config)),
        sizes=named(Config.of(8, 32), Config.of(2, 8, 32), Config.parse("8x32-asic")),
        broken=faults(
            Config.of(8, 32),
            5,
            stuck_at(0, "dut.is_here"),
            late("dut.error"),
            stuck_at(0, "dut.restarts"),
            stuck_at(0, "dut.block_start", 0),
        ),
    ),
)
