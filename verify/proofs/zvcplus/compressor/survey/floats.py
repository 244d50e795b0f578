"""What blocks of floats are made of: of any words, in any cycles."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cat, Cover, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.survey.floats import FloatSurvey
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.survey.base import Surveyed
from cdma.verify.proofs.zvcplus.exponents import is_range


class SurveysFloats(Surveyed):
    """Signs are joined, the range is that of the exponents of all words that are not zero, and
    repeated words are those that equal the word before; of any exponent."""

    def layout(self):
        of_repeats = {"repeated": self.config.lanes, "new_fits": 1, "has_new": 1}
        flags = dict.fromkeys(("sign", "fits", "has_any"), 1)
        return data.StructLayout({**flags, **(of_repeats if self.config.has_repeats else {})})

    def describe(self, m, own, mask):
        dut, word = self.dut, self.config.word
        self.value = value = Signal(word.exponent, name="value")
        fits = Signal(self.config.lanes, name="fits")
        m.d.comb += [
            value.eq(AnyConst(len(value))),
            fits.eq(Cat(each[word.mantissa : -1] == value for each in dut.words)),
            own.sign.eq((Cat(each[-1] for each in dut.words) & dut.keep).any()),
        ]
        if self.config.has_repeats:
            self._describe_repeats(m, own, mask, fits)
        else:
            m.d.comb += [own.fits.eq((fits & mask).any()), own.has_any.eq(mask.any())]

    def _describe_repeats(self, m, own, mask, fits):
        """Repeated words, and those whose range is that of all words of the block."""
        dut, word = self.dut, self.config.word
        before, has_before = Signal(word.bits, name="before"), Signal(name="has_before")
        joined = Signal(2, name="joined_in")  # new words, or the first of a block; all words
        sources = [before, *dut.words][: self.config.lanes]
        equal = Cat(a == b for a, b in zip(dut.words, sources, strict=True))
        new = Signal(self.config.lanes, name="new")
        starts, is_first = Signal(name="starts"), dut.index == 0
        m.d.comb += [
            own.repeated.eq(mask & Cat(equal[0] & has_before, equal[1:])),
            new.eq(mask & ~own.repeated),
            starts.eq(is_first & own.repeated[0] & fits[0]),
            own.new_fits.eq((fits & new).any()),
            own.has_new.eq(new.any()),
            own.fits.eq(own.new_fits | starts),
            own.has_any.eq(new.any() | (is_first & own.repeated[0])),
            Assert(probe(m, "dut.compare.has_before", 1) == has_before),
            Assert(~has_before | (probe(m, "dut.compare.before", word.bits) == before)),
            # Each repeated word equals a new one of its block, or the block's first word.
            Assert(joined[0] == joined[1]),
            Assert(is_first | has_before),
            Assert(
                is_first | (before == 0) | (before[word.mantissa : -1] != self.value) | joined[1]
            ),
        ]
        with m.If(dut.enable & dut.valid):
            m.d.sync += [
                before.eq(dut.words[self.config.lanes - 1]),
                has_before.eq(~dut.extent.last),
                joined.eq(Mux(is_first, 0, joined) | Cat(own.fits, (fits & mask).any())),
            ]

    def join(self, m, joins, is_first, beat, begun, at):
        dut, own = self.dut, beat.own
        names = ["sign", "fits", "has_any"]
        if self.config.has_repeats:
            names += ["new_fits", "has_new"]
        joined = {name: Signal(name=f"joined_{name}") for name in names}
        with m.If(joins):
            m.d.sync += [each.eq((each & ~is_first) | own[name]) for name, each in joined.items()]
        with m.If(begun):
            m.d.comb += Assert(dut.o.is_wide == joined["sign"])
            flags = joined["fits"], joined["has_any"]
            is_range(m, "all", dut.o.top, dut.o.least, self.value, *flags)
        if self.config.has_repeats:
            self._join_repeats(m, joins, beat, begun, at, joined)

    def _join_repeats(self, m, joins, beat, begun, at, joined):
        """Repeated words, both counts, and the range of new words."""
        stats, config = self.dut.o, self.config
        words, lanes, is_first = config.word.block_words, config.lanes, beat.index == 0
        repeated = Signal(words, name="joined_repeated")
        counts = [Signal(range(words + 1), name=f"joined_count{k}") for k in range(2)]
        with m.If(joins):
            m.d.sync += repeated.eq(
                Mux(is_first, 0, repeated) | (beat.own.repeated << beat.index * lanes)
            )
            for count, mask in zip(counts, (beat.mask, beat.own.repeated), strict=True):
                m.d.sync += count.eq(Mux(is_first, 0, count) + popcount(m, mask))
        with m.If(begun):
            m.d.comb += [
                Assert(stats.repeated == repeated),
                *(
                    Assert((at != index) | ((repeated >> lanes * (index + 1)) == 0))
                    for index in range(3)
                ),
                Assert(stats.nonzeros == counts[0]),
                Assert(stats.repeats == counts[1]),
                Cover(repeated[lanes]),
            ]
            flags = joined["new_fits"], joined["has_new"]
            is_range(m, "new", stats.new_top, stats.new_least, self.value, *flags)


FLOATS = {
    "fp32": Config("fp32"),
    "fp16": Config("fp16"),
    "fp32-left": Config("fp32", "left"),
}

PROOFS = (
    Proof(
        name="float_survey",
        promise="The statistics of a block of floats are those of the words of its beats",
        components=(FloatSurvey,),
        design=lambda config: SurveysFloats(FloatSurvey(config)),
        sizes=FLOATS,
        slow=tuple(FLOATS),
        depth=5,
        broken=faults(
            FLOATS["fp32-left"],
            9,
            late("dut.is_wide"),
            stuck_at(0, "dut.pieces", 5),
            inverted("dut.wait.o_valid"),
        ),
    ),
)
