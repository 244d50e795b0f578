"""The status of the compressor, compared with sums over the rows of a packet."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.compressor.report import CompressorReport
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Sums(Elaboratable):
    """After the last row of a packet, the status contains the sums over all its rows.

    Assumptions, proven of the assembler: only the last row of a packet may be partial, and at most
    one block of a packet is partial.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        fmt, lanes = dut.config.format, dut.config.lanes
        lane_bits = lanes.bit_length() - 1
        low = (fmt.block_words & -fmt.block_words).bit_length() - 1
        row, kept = dut.row.row, dut.row.kept
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            dut.row.as_value().eq(anything(m, len(dut.row.as_value()), "any_row")),
            Assume((row.keep & (row.keep + 1)) == 0),
            Assume(row.last | row.keep.all()),
        ]
        is_first, has_ended = Signal(init=1), Signal()
        words, stream_words = Signal(COUNT_BITS), Signal(COUNT_BITS)
        words_before = Mux(is_first, 0, words)
        m.d.comb += Assume((words_before[:low] == 0) | (kept[:low] == 0))
        with m.If(dut.enable):
            m.d.sync += [
                is_first.eq(row.last),
                has_ended.eq(row.last),
                words.eq(words_before + kept),
                stream_words.eq(Mux(is_first, 0, stream_words) + popcount(m, row.keep)),
            ]
        with m.If(has_ended):
            m.d.comb += [
                Assert(dut.status.words == words),
                Assert(dut.status.bytes == (stream_words * fmt.word_bytes)[:COUNT_BITS]),
                Cover((words > fmt.block_words) & (stream_words[:lane_bits] != 0)),
                Cover((stream_words == 0) & (words == 0)),
            ]

        # Invariants of the registers.
        m.d.comb += [
            Assert(probe(m, "dut.is_first", 1) == is_first),
            Assert(probe(m, "dut.rest", low) == words[:low]),
            Assert(probe(m, "dut.words_in.value", COUNT_BITS - low) == words[low:]),
            Assert(
                probe(m, "dut.rows_out.value", COUNT_BITS - lane_bits) == stream_words[lane_bits:]
            ),
            Assert(is_first | (stream_words[:lane_bits] == 0)),
            Assert(~has_ended | is_first),
        ]
        keep = probe(m, "dut.last_keep", lanes)
        rest = Signal(lane_bits)
        m.d.comb += rest.eq(popcount(m, keep))  # a full row counts as none
        with m.If(~is_first | has_ended):
            m.d.comb += [Assert((keep & (keep + 1)) == 0), Assert(rest == stream_words[:lane_bits])]
        parts = (("words_in", low, len(kept)), ("rows_out", lane_bits, lane_bits + 1))
        for name, begin, start in parts:
            total = words if name == "words_in" else stream_words
            for at in range(start, COUNT_BITS - PART_BITS, PART_BITS):
                is_full = probe(m, f"dut.{name}.is_full{at - begin}", 1)
                m.d.comb += Assert(is_full == total[at : at + PART_BITS].all())
        return m


PROOFS = (
    Proof(
        name="compressor_report",
        promise="The status of a packet contains the sums over its rows",
        components=(CompressorReport,),
        design=lambda config: Sums(CompressorReport(config)),
        sizes=named(Config.of(8, 32), Config.of(2, 8, 8), Config.parse("8x32-asic")),
        broken=faults(
            Config.of(8, 32),
            4,
            stuck_at(0, "dut.rest", 0),
            late("dut.is_first"),
            stuck_at(0, "dut.rows_out.first"),
            stuck_at(0, "dut.last_keep", 1),
        ),
    ),
)
