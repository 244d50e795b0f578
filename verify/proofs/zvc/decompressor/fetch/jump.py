"""The jump table: for each word that may end a mask, the place where the next mask ends."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Cat, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.jump import JumpTable
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named

ROWS = 4


class Finds(Elaboratable):
    """An entry, by row and lane, is the number of words to the end of the next mask. It belongs to
    the last beat written to the row."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, fmt = dut.config.lanes, dut.config.format
        words = dut.words.as_value()
        row, lane = Signal(range(ROWS)), Signal(range(lanes))
        m.d.comb += [
            row.eq(AnyConst(len(row))),
            lane.eq(AnyConst(len(lane))),
            dut.accept.eq(anything(m, 1, "accept")),
            dut.tail.eq(anything(m, len(dut.tail), "tail")),
            words.eq(anything(m, len(words), "words_in")),
            dut.row.eq(row),
            dut.lane.eq(lane),
        ]
        # The table counts a beat one cycle later and keeps the previous beat.
        accepted, tail, now = Signal(), Signal.like(dut.tail), Signal.like(words)
        has_before, before = Signal(), Signal.like(words)
        m.d.sync += [accepted.eq(dut.accept), tail.eq(dut.tail), now.eq(words)]
        with m.If(accepted):
            m.d.sync += [has_before.eq(1), before.eq(now)]

        m.d.comb += Assert(probe(m, "dut.accepted", 1) == accepted)
        with m.If(accepted):
            m.d.comb += Assert(probe(m, "dut.tail", len(tail)) == tail)

        def counts(value):
            return Cat(popcount(m, value[k : k + 8]) for k in range(0, len(value), 8))

        for name, value, is_known in (("now", now, accepted), ("before", before, has_before)):
            held = probe(m, f"dut.{name}", len(value) // 2)
            with m.If(is_known):
                m.d.comb += Assert(held == counts(value))

        # Expected jump: the ones of the mask that ends with this word, plus the length of a mask,
        # relative to lane 0.
        size = fmt.word_bits
        line = Cat(before, now)
        jumps = []
        for bank in range(lanes):
            mask = line[(lanes + bank - fmt.mask_words + 1) * size : (lanes + bank + 1) * size]
            jumps.append(popcount(m, mask) + bank + fmt.mask_words)
        is_known, jump = Signal(), Signal(range(fmt.block_words + fmt.mask_words + lanes))
        is_whole = has_before | (lane >= fmt.mask_words - 1)
        with m.If(accepted & (tail == row)):
            m.d.sync += [is_known.eq(is_whole), jump.eq(Array(jumps)[lane])]
        found = Signal.like(jump)
        m.d.comb += found.eq(Cat(dut.to_lane, dut.rows_on))
        with m.If(is_known):
            m.d.comb += [
                Assert(found == jump),
                Cover(jump == fmt.mask_words + lane),
                Cover(jump == fmt.mask_words + lane + fmt.block_words),
            ]
        return m


PROOFS = (
    Proof(
        name="jump_table",
        promise="For each word, the table gives the place where the next mask ends",
        components=(JumpTable,),
        design=lambda config: Finds(JumpTable(config, ROWS)),
        sizes=named(Config.of(4, 8, 8), Config.of(16, 16, 32)),
        slow=(Config.of(16, 16, 32).name,),
        broken=faults(
            Config.of(8, 8, 16),
            6,
            late("dut.jump3"),
            stuck_at(1, "dut.accepted"),
            stuck_at(0, "dut.before", 2),
        ),
    ),
)
