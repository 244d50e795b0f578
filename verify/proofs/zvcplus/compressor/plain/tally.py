"""The mask of a block and what is counted of it, after each beat, in two steps."""

from amaranth.hdl import Array, Assert, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.plain.survey.tally import MaskTally, _Flagged
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults


class TalliesMasks(Elaboratable):
    """The mask of a block up to a beat has the bits of its beats, and the counts are those of this
    mask; of a block that has ended, with the beats that it does not have.

    The model has the beat of the first step, and the mask of the second.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes = dut.config.lanes
        enable, index, before = anything(m, 1, "enable"), Signal(2, name="index"), Signal()
        beat = Signal(_Beat(lanes), name="beat")  # in the first step
        leave_open(m, dut, "valid", "mask")
        m.d.comb += [
            dut.enable.eq(enable.replicate(2)),
            dut.index.eq(index),
            dut.end.eq(anything(m, 1, "ends") | (index == 3)),
        ]
        with m.If(enable):
            m.d.sync += [
                beat.valid.eq(dut.valid),
                beat.mask.eq(dut.mask),
                beat.before.eq(before),
                beat.index.eq(index),
                beat.end.eq(dut.end),
            ]
            with m.If(dut.valid):
                m.d.sync += [
                    index.eq(Mux(dut.end, 0, index + 1)),
                    before.eq(dut.mask[-1] & ~dut.end),
                ]
        m.d.comb += [
            Assert(probe(m, "dut.before", 1) == before),
            Assert(probe(m, "dut.flagged.valid0", 1) == beat.valid),
        ]
        with m.If(beat.valid):
            self._check_beat(m, beat)
        self._gather(m, enable, beat, index, before)
        return m

    def _check_beat(self, m, beat):
        """The register of the first step."""
        layout = _Flagged(self.dut.config)
        found = data.View(layout, probe(m, "dut.flagged.value0", layout.size))
        differences = beat.mask ^ Cat(beat.before, beat.mask[:-1])
        is_short = beat.end & (beat.index != 3)
        m.d.comb += [
            Assert(found.mask == beat.mask),
            Assert(found.as_is == _nibbles(m, beat.mask)),
            Assert(found.differences == _nibbles(m, differences)),
            Assert(found.has_tail == (beat.mask[-1] & is_short)),
            Assert(found.first == (beat.index == 0)),
            Assert(found.here == 1 << beat.index),
            Assert(found.is_short == is_short),
        ]

    def _gather(self, m, enable, beat, index, before):
        """The beats of a block together."""
        dut, config = self.dut, self.dut.config
        lanes, words = config.lanes, config.word.block_words
        mask, at, has_ended, begun = Signal(words), Signal(2), Signal(), Signal()
        with m.If(enable & beat.valid):
            place = beat.index * lanes
            m.d.sync += [
                begun.eq(1),
                at.eq(beat.index),
                has_ended.eq(beat.end),
                mask.eq(Mux(beat.index == 0, 0, mask) | (beat.mask << place)),
            ]
        last = Array(mask[lanes - 1 :: lanes])[at]  # of the latest beat
        # Beats are in order in both steps.
        due = Mux(begun & ~has_ended, at + 1, 0)[:2]
        carried = begun & ~has_ended & last
        with m.If(beat.valid):
            m.d.comb += [
                Assert(beat.index == due),
                Assert(beat.before == carried),
                Assert(index == Mux(beat.end, 0, beat.index + 1)[:2]),
                Assert(before == (beat.mask[-1] & ~beat.end)),
                Assert((beat.index != 3) | beat.end),
            ]
        with m.Else():
            m.d.comb += [Assert(index == due), Assert(before == carried)]
        differences = Signal(words)
        m.d.comb += differences.eq(mask ^ (mask << 1))
        known = Signal(words)  # what the beats up to here decide
        is_short = has_ended & (at != 3)
        m.d.comb += known.eq(
            Mux(has_ended, -1, Array((1 << lanes * k) - 1 for k in range(1, 5))[at])
        )
        beats = Array((1 << lanes * k) - 1 for k in range(1, 5))[at]
        zeros = popcount(m, (~mask & beats)[:words])
        by_differences, as_is = _nibbles(m, differences & known), _nibbles(m, mask)
        with m.If(begun):
            m.d.comb += [
                Assert((mask & ~beats) == 0),
                Assert((at != 3) | has_ended),
                Assert(dut.o.mask == mask),
                Assert(dut.o.is_zero == (mask == 0)),
                Assert(probe(m, "dut.differences", len(dut.o.nibbles)) == by_differences),
                Assert(probe(m, "dut.as_is", len(dut.o.nibbles)) == as_is),
                Assert(dut.o.is_differences == (by_differences <= as_is)),
                Assert(dut.o.nibbles == Mux(by_differences <= as_is, by_differences, as_is)),
                *(
                    Assert(dut.o.zeros[k] == (is_short | (zeros > k)))
                    for k in range(len(dut.o.zeros))
                ),
                Cover(is_short & last & (by_differences > as_is)),
                Cover(has_ended & (at == 3) & (zeros == 2)),
            ]


def _nibbles(m: Module, mask):
    """Nibbles that are not zero."""
    return popcount(m, Cat(mask[k : k + 4].any() for k in range(0, len(mask), 4)))


class _Beat(data.StructLayout):
    """A beat, and the last bit of the mask of the beat before it in its block."""

    def __init__(self, lanes: int):
        super().__init__({"valid": 1, "mask": lanes, "before": 1, "index": 2, "end": 1})


PROOFS = (
    Proof(
        name="mask_tally",
        promise="A block's mask has the bits of its beats, and its zeros and nibbles are counted",
        components=(MaskTally,),
        design=lambda name: TalliesMasks(MaskTally(Config(name))),
        sizes={name: name for name in ("fp32", "bf16")},
        slow=("fp32", "bf16"),
        broken=faults(
            "fp32",
            8,
            stuck_at(0, "dut.before"),
            late("dut.mask2"),
            stuck_at(0, "dut.zeros", 1),
        ),
    ),
)
