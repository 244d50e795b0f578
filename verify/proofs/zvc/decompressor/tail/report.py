"""The status of a packet whose stream ends itself, compared with plain sums."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.format import ErrorCode
from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.tail.report import TailReport
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Sums(Elaboratable):
    """The status has the words of the packet, and the bytes of its stream or the place of the block
    that is cut."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, row, tags = dut.config.lanes, dut.row, dut.tags
        keep, last = row.keep, row.last
        lane_bits = lanes.bit_length() - 1
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            row.as_value().eq(anything(m, len(row.as_value()), "any_row")),
            tags.as_value().eq(anything(m, len(tags.as_value()), "any_tags")),
            Assume((keep & (keep + 1)) == 0),  # contiguous from lane 0
            Assume(last | keep.all()),
        ]
        is_fresh, is_owed = Signal(init=1), Signal()
        words, used, start = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_cut, in_block = Signal(), Signal()
        before = Mux(is_fresh, 0, used)
        with m.If(dut.enable):
            m.d.sync += [
                is_fresh.eq(last),
                is_owed.eq(1),
                words.eq(Mux(is_fresh, 0, words) + popcount(m, keep)),
                used.eq(before + tags.used),
                start.eq(Mux(is_fresh | tags.first, before, start)),
                is_cut.eq(tags.cut & last),
                in_block.eq(tags.in_block),
            ]
        end = Signal(COUNT_BITS)
        m.d.comb += end.eq(Mux(is_cut & in_block, start, used))
        with m.If(is_fresh & is_owed):
            status = dut.status
            m.d.comb += [
                Assert(status.words == words),
                Assert(status.bytes == (end * dut.config.format.word_bytes)[:COUNT_BITS]),
                Assert(status.error == Mux(is_cut, ErrorCode.TRUNCATED, ErrorCode.NONE)),
                Cover(is_cut & (start != 0) & (words == lanes + 1)),
            ]
        # Invariants of the registers.
        whole = probe(m, "dut.rows.value", COUNT_BITS - lane_bits)
        last_keep = probe(m, "dut.last_keep", lanes)
        m.d.comb += [
            Assert(probe(m, "dut.is_fresh", 1) == is_fresh),
            Assert(probe(m, "dut.used.value", COUNT_BITS) == used),
            Assert(is_owed | is_fresh),
        ]
        for name, step_bits, width in (
            ("used", len(tags.used), COUNT_BITS),
            ("rows", 1, COUNT_BITS - lane_bits),
        ):
            value = probe(m, f"dut.{name}.value", width)
            for at in range(step_bits, width - PART_BITS, PART_BITS):
                is_full = probe(m, f"dut.{name}.is_full{at}", 1)
                m.d.comb += Assert(is_full == value[at : at + PART_BITS].all())
        with m.If(is_owed):
            full = last_keep.all()
            rest = Mux(full, 0, popcount(m, last_keep))
            m.d.comb += [
                Assert(words == ((whole << lane_bits) + rest)[:COUNT_BITS]),
                Assert((last_keep & (last_keep + 1)) == 0),
                Assert(is_fresh | full),
                Assert(probe(m, "dut.block_start", COUNT_BITS) == start),
                Assert(probe(m, "dut.is_cut", 1) == is_cut),
                Assert(probe(m, "dut.in_block", 1) == in_block),
            ]
        return m


PROOFS = (
    Proof(
        name="tail_report",
        promise="The status of a packet whose stream ends itself has its words and its bytes",
        components=(TailReport,),
        design=lambda config: Sums(TailReport(config)),
        sizes=named(
            *(Config.of(8, 32, None, "ones"), Config.of(2, 8, 8, "ones")),
            *(Config.parse("8x32-ones-asic"), Config.parse("2x8b8-ones-asic")),
        ),
        broken=faults(
            Config.of(8, 32, None, "ones"),
            5,
            late("dut.is_cut"),
            stuck_at(0, "dut.block_start", 0),
            stuck_at(1, "dut.last_keep", 3),
        ),
    ),
)
