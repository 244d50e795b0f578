"""Packets cut into blocks, and the masks of blocks, whatever words come in and when."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.compressor.survey.masks import MaskGather
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults


class CutsPackets(Elaboratable):
    """Beats are numbered from a packet's first, four to a block, and only kept words remain."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, beat = dut.config, dut.beat
        size = config.word.bits // 8
        leave_open(m, dut, "accept", "beat")
        lane, is_kept = Signal(range(config.lanes)), Signal()
        kept = Signal(config.lanes)  # from the lowest byte of each word
        beats = Signal(8)  # of the packet before this one
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            *(kept[each].eq(beat.keep[each * size]) for each in range(config.lanes)),
            Assume((kept & (kept + 1)) == 0),
            is_kept.eq(~beat.last | kept.bit_select(lane, 1)),
        ]
        with m.If(dut.accept):
            m.d.sync += beats.eq(Mux(beat.last, 0, beats + 1))
        count = Mux(beat.last, popcount(m, kept), config.lanes)
        m.d.comb += [
            Assert(dut.index == beats[:2]),
            Assert(dut.extent.beats == beats[:2]),
            Assert(dut.end == (beat.last | (beats[:2] == 3))),
            Assert(dut.extent.last == beat.last),
            Assert(dut.keep.bit_select(lane, 1) == is_kept),
            Assert(dut.words[lane] == Mux(is_kept, beat.words[lane], 0)),
            Assert(dut.extent.words == count),
            # A block without a word is one beat alone.
            Assert(dut.extent.is_empty == ((beats[:2] == 0) & (count == 0))),
            Cover(dut.accept & dut.extent.is_empty & (beats == 4)),
            Cover(dut.accept & dut.end & ~beat.last),
        ]
        return m


class GathersMasks(Elaboratable):
    """The mask of a block up to a beat has the bits of its beats, and zeros behind; a nibble is
    marked where the mask, or its differences, are not zero there."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, words = dut.config.lanes, dut.config.word.block_words
        leave_open(m, dut, "enable", "valid", "mask")
        index, mask = Signal(2), Signal(words)
        is_known = Signal()
        m.d.comb += dut.index.eq(index)
        with m.If(dut.enable & dut.valid):
            ends = anything(m, 1, "ends")
            m.d.sync += [index.eq(Mux(ends, 0, index + 1)), is_known.eq(1)]
            with m.Switch(index):
                for beat in range(4):
                    with m.Case(beat):
                        before = mask[: beat * lanes] if beat else Signal(0)
                        m.d.sync += mask.eq(before | (dut.mask << beat * lanes))
        differences = Signal(words)
        m.d.comb += differences.eq(mask ^ (mask << 1))
        last = Signal()  # of the beat before
        with m.If(dut.enable & dut.valid):
            m.d.sync += last.eq(dut.mask[-1])
        m.d.comb += Assert(is_known | (index == 0))
        with m.If(is_known):
            m.d.comb += [
                Assert(dut.o.mask == mask),
                *(
                    Assert(dut.o.as_is[group] == (mask.word_select(group, 4) != 0))
                    for group in range(words // 4)
                ),
                *(
                    Assert(dut.o.differences[group] == (differences.word_select(group, 4) != 0))
                    for group in range(words // 4)
                ),
                Assert(probe(m, "dut.before", 1) == last),
                Cover((index == 3) & mask[0] & (mask[lanes : 2 * lanes] == 0)),
            ]
            for beat in range(1, 4):
                with m.If(index == beat):
                    m.d.comb += [
                        Assert(last == mask[beat * lanes - 1]),
                        Assert((mask >> beat * lanes) == 0),
                    ]
        return m


PROOFS = (
    Proof(
        name="block_intake",
        promise="Packets are cut into blocks of four beats, and words that are not kept are zero",
        components=(BlockIntake,),
        design=lambda name: CutsPackets(BlockIntake(Config(name))),
        sizes={name: name for name in ("fp32", "bf16", "int8")},
        broken=faults(
            "fp32", 8, late("dut.index"), stuck_at(0, "dut.extent", 5), stuck_at(1, "dut.keep", 5)
        ),
    ),
    Proof(
        name="mask_gather",
        promise="A block's mask has the bits of its beats, and its nibbles are marked",
        components=(MaskGather,),
        design=lambda name: GathersMasks(MaskGather(Config(name))),
        sizes={name: name for name in ("fp32", "bf16", "int8")},
        broken=faults(
            "fp32",
            8,
            stuck_at(0, "dut.before"),
            late("dut.as_is2"),
            stuck_at(0, "dut.differences", 1),
        ),
    ),
)
