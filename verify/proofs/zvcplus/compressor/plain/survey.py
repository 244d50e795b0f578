"""What a block is made of, in two steps: of any words, in any cycles."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.compressor.plain.survey.step import StepSurvey
from cdma.hdl.zvcplus.compressor.plain.survey.tally import _Flagged
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.exponents import gathered, is_range


class Surveys(Elaboratable):
    """Signs are joined, the range and the mask are those of the words that are kept and not zero,
    and a block that has ended is given with its extent.

    What is counted of the mask is a promise of the tally alone.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, word = dut.config, dut.config.word
        lanes = config.lanes
        enable, index = anything(m, 1, "enable"), Signal(2, name="index")
        leave_open(m, dut, "valid", "words", "keep", "extent")
        value, nonzero = Signal(word.exponent), Signal(lanes, name="nonzero")
        fits = Signal(lanes, name="fits")
        beat = Signal(_Beat(config), name="beat")  # in the first step
        m.d.comb += [
            value.eq(AnyConst(len(value))),
            dut.enable.eq(enable.replicate(2)),
            dut.index.eq(index),
            dut.end.eq(anything(m, 1, "ends") | (index == 3)),
            Assume((dut.keep & (dut.keep + 1)) == 0),
            nonzero.eq(Cat(each.any() for each in dut.words) & dut.keep),
            fits.eq(Cat(each[word.mantissa : -1] == value for each in dut.words)),
            Assert(dut.mask == nonzero),
        ]
        with m.If(enable):
            m.d.sync += [
                beat.valid.eq(dut.valid),
                beat.mask.eq(nonzero),
                beat.index.eq(index),
                beat.end.eq(dut.end),
                beat.extent.eq(dut.extent),
            ]
            with m.If(dut.valid):
                m.d.sync += index.eq(Mux(dut.end, 0, index + 1))
        sign = (Cat(each[-1] for each in dut.words) & dut.keep).any()
        flags = Signal(5, name="flags")
        m.d.comb += flags.eq(
            Cat((fits & nonzero).any(), nonzero.any(), sign, dut.valid, index == 0)
        )
        joined, begun = gathered(m, enable, flags, 1)
        mask, has_ended = Signal(word.block_words, name="mask"), Signal(name="has_ended")
        at, extent = Signal(2, name="at"), Signal(Extent(config), name="extent")
        is_over = Signal(name="is_over")  # the block of the latest beat has ended
        with m.If(enable):
            m.d.sync += [has_ended.eq(beat.valid & beat.end), extent.eq(beat.extent)]
            with m.If(beat.valid):
                m.d.sync += [
                    at.eq(beat.index),
                    is_over.eq(beat.end),
                    mask.eq(Mux(beat.index == 0, 0, mask) | (beat.mask << beat.index * lanes)),
                ]
        layout = _Flagged(config)
        flagged = data.View(layout, probe(m, "dut.masks.flagged.value0", layout.size))
        due = Mux(begun & ~is_over, at + 1, 0)[:2]
        m.d.comb += [
            Assert(dut.o_valid == has_ended),
            Assert(probe(m, "dut.masks.flagged.valid0", 1) == beat.valid),
            # Beats are in order in both steps.
            Assert(Mux(beat.valid, beat.index, index) == due),
            Assert(~beat.valid | (index == Mux(beat.end, 0, beat.index + 1)[:2])),
            Assert(~beat.valid | (beat.index != 3) | beat.end),
            Assert(~begun | (at != 3) | is_over),
        ]
        with m.If(beat.valid):
            m.d.comb += [
                Assert(flagged.mask == beat.mask),
                Assert(flagged.first == (beat.index == 0)),
                Assert(flagged.here == 1 << beat.index),
            ]
        with m.If(has_ended):
            m.d.comb += [
                Assert(dut.o.extent.as_value() == extent.as_value()),
                Cover(mask.all()),
            ]
        with m.If(begun):
            is_range(m, "all", dut.o.top, dut.o.least, value, joined[0], joined[1])
            m.d.comb += [
                Assert(dut.o.is_wide == joined[2]),
                Assert(dut.o.masks.mask == mask),
                *(Assert((at != k) | ((mask >> lanes * (k + 1)) == 0)) for k in range(3)),
                Assert(dut.o.masks.is_zero == ~joined[1]),
            ]
        return m


class _Beat(data.StructLayout):
    """What is known of a beat behind the first step."""

    def __init__(self, config: Config):
        super().__init__(
            {"valid": 1, "mask": config.lanes, "index": 2, "end": 1, "extent": Extent(config)}
        )


PROOFS = (
    Proof(
        name="step_survey",
        promise="The statistics of a block of floats are those of the words of its beats",
        components=(StepSurvey,),
        design=lambda name: Surveys(StepSurvey(Config(name))),
        sizes={name: name for name in ("fp32", "fp16")},
        slow=("fp32", "fp16"),
        depth=4,
        broken=faults(
            "fp32",
            8,
            late("dut.ended.o_valid"),
            stuck_at(0, "dut.mask", 5),
            inverted("dut.is_wide"),
        ),
    ),
)
