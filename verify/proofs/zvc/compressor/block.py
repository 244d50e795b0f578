"""The mask of the oldest block, combined from the masks of its beats."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvc.compressor.block import BlockMask
from cdma.hdl.zvc.compressor.intake import Intake
from cdma.hdl.zvc.compressor.zeros import pieces_of
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import inverted, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Gathers(Elaboratable):
    """The mask bits, the number of words and the end of the packet come from the beats up to the
    first beat that ends a block. Later beats have no influence."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, lanes = dut.config, dut.config.lanes
        beats, pieces = config.block_beats, pieces_of(config)
        parts = list(dut.parts)[:beats]
        m.d.comb += Value.cast(dut.parts).eq(anything(m, Value.cast(dut.parts).shape().width, "p"))
        end = Signal(range(Intake.rows(config)))  # index of the beat that ends the block
        for index, part in reversed(list(enumerate(parts))):
            m.d.comb += [Assume(part.kept <= lanes), Assume(part.end | ~part.last)]
            with m.If(part.end):
                m.d.comb += end.eq(index)
        m.d.comb += Assume(Value.cast(Array(parts)[end].end))

        word = Signal(range(config.format.block_words))
        m.d.comb += word.eq(AnyConst(len(word)))
        beat, lane = word // lanes, word % lanes
        is_non_zero, behind, is_past = Signal(), Signal(beats), Signal()
        own = Signal(lanes * pieces)
        m.d.comb += own.eq(Array(part.pieces for part in parts)[beat])
        m.d.comb += is_non_zero.eq(own.word_select(lane, pieces).any() & (beat <= end))
        for index, part in enumerate(parts[1:], 1):
            m.d.comb += behind[index].eq(part.pieces.any() & (index <= end))
        is_last, kept = Signal(), Signal(range(lanes + 1))
        m.d.comb += [
            is_last.eq(Array(part.last for part in parts)[end]),
            kept.eq(Array(part.kept for part in parts)[end]),
            # Where the end of the block has come up, the packet may go on behind it.
            is_past.eq(Mux(is_last, word >= end * lanes + kept, word >= (end + 1) * lanes)),
            # With a tail of ones, the bits past the end are set.
            Assert(
                dut.mask.bit_select(word, 1)
                == (is_non_zero | (is_past if config.format.ends_itself else 0))
            ),
            Assert(dut.is_zero_behind == ~behind.any()),
            Assert(dut.last == is_last),
            Assert(dut.words == end * lanes + Mux(is_last, kept, lanes)),
            Cover(is_last & (kept == 0) & (end == beats - 1)),
            Cover(is_non_zero & ~is_last & (end == beats - 1)),
        ]
        return m


PROOFS = (
    Proof(
        name="block_mask",
        promise="The mask of a block comes from its own beats and from no later beat",
        components=(BlockMask,),
        design=lambda config: Gathers(BlockMask(config)),
        sizes=named(
            *(Config.of(8, 32), Config.of(16, 16), Config.of(2, 8, 8), Config.of(8, 8, 8)),
            *(Config.of(8, 32, None, "ones"), Config.of(8, 8, 8, "ones")),
        ),
        broken=faults(
            Config.of(8, 32),
            1,
            stuck_at(1, "dut.mask", 9),
            stuck_at(0, "dut.words", 3),
            inverted("dut.is_zero_behind"),
        ),
    ),
)
