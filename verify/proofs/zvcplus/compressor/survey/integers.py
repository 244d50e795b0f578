"""What blocks of int8 are made of: of any words, in any cycles."""

from amaranth.hdl import Assert, Cat, Const, Cover, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.survey.integers import SUMS, IntSurvey
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.survey.base import Surveyed


class SurveysIntegers(Surveyed):
    """A group's width holds all its values less 1, and sums are those of all words' widths."""

    def layout(self):
        groups, bits = self.config.beat_groups, self.config.beat_bits
        return data.StructLayout(
            {
                "widths": data.ArrayLayout(range(self.config.word.bits + 1), groups),
                **dict.fromkeys(SUMS, range(bits + 1)),
            }
        )

    def describe(self, m, own, mask):
        config, words = self.config, self.dut.words
        size = config.lanes // config.beat_groups
        counts = []
        for group in range(config.beat_groups):
            lanes = range(group * size, (group + 1) * size)
            width = Const(0, 4)
            for bits in range(config.word.bits):  # some value less 1 has more bits
                wider = Cat(mask[lane] & (words[lane] > 1 << bits) for lane in lanes).any()
                width = Mux(wider, bits + 1, width)
            m.d.comb += own.widths[group].eq(width)
            counts.append(popcount(m, mask[group * size : (group + 1) * size]))
        (first, second), (ones, others) = own.widths, counts
        larger = Signal(4, name="larger")
        m.d.comb += [
            larger.eq(Mux(first > second, first, second)),
            own.small_bits.eq(ones * first + others * second),
            own.large_bits.eq((ones + others) * larger),
            own.small_raised.eq(Mux(first == 0, ones, 0) + Mux(second == 0, others, 0)),
            own.large_raised.eq(Mux(larger == 0, ones + others, 0)),
        ]

    def join(self, m, joins, is_first, beat, begun, at):
        stats, groups = self.dut.o, self.config.beat_groups
        sums = {name: Signal.like(stats[name], name=f"joined_{name}") for name in SUMS}
        widths = Signal(stats.widths.as_value().shape(), name="joined_widths")
        own = beat.own.widths.as_value()
        with m.If(joins):
            m.d.sync += widths.eq(Mux(is_first, 0, widths) | (own << beat.index * len(own)))
            for name, total in sums.items():
                m.d.sync += total.eq(Mux(is_first, 0, total) + beat.own[name])
        with m.If(begun):
            m.d.comb += [
                Assert(stats.widths.as_value() == widths),
                *(
                    Assert((at != index) | ((widths >> len(own) * (index + 1)) == 0))
                    for index in range(3)
                ),
                *(Assert(stats[name] == total) for name, total in sums.items()),
                Cover((widths[4 * groups :] != 0) & (stats.small_raised != 0)),
            ]


PROOFS = (
    Proof(
        name="int_survey",
        promise="The statistics of a block of int8 are those of the words of its beats",
        components=(IntSurvey,),
        design=lambda config: SurveysIntegers(IntSurvey(config)),
        sizes={"int8": Config("int8")},
        slow=("int8",),
        depth=6,
        broken=faults(
            Config("int8"),
            9,
            late("dut.added.o_valid"),
            stuck_at(0, "dut.joined.value0", 20),
            inverted("dut.small_bits", 3),
        ),
    ),
)
