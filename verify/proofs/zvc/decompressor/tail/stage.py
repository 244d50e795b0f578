"""The end of a packet whose stream ends itself: its beats, and which of them is the last."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.tail.stage import TailStage
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.proof import Proof, faults, named, swapped

COUNT = 2  # bits of the counters of beats; at most one is between input and output


class Ends(Elaboratable):
    """Each beat with a word leaves once, in order; the beat before the first missing word is the
    last, and nothing leaves between this word and the end of the packet.

    The input is unconstrained, but for the rules of its parts: a beat is held until it is taken,
    and the beat that stands for the end of a packet has no mask.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes = dut.config.lanes
        offered = Cat(dut.valid, dut.read.as_value(), dut.words.as_value(), dut.missing)
        m.d.comb += offered.eq(anything(m, len(offered), "beat"))
        was_stalled, kept = Signal(), Signal(len(offered))
        m.d.sync += [was_stalled.eq(dut.valid & ~dut.ready), kept.eq(offered)]
        tags = dut.read.tags
        m.d.comb += [
            Assume(~was_stalled | (offered == kept)),
            Assume(~tags.last | (dut.missing == 0)),
            Assume(tags.final | ~tags.last),
            Assume(dut.read.has_words | (dut.missing == 0)),
        ]
        bits = dut.config.format.word_bits
        leaves, accept = take(m, dut.o, "o"), Signal()
        out = dut.o.payload
        m.d.comb += accept.eq(dut.valid & dut.ready)

        # The model: the packet has an open beat, that may be its last; its last word has come.
        has_beat, is_over = Signal(), Signal()
        first_gap = Cat(dut.missing[:k].any() for k in range(1, lanes + 1))
        gives = dut.valid & ~is_over & ~tags.last & ~dut.missing[0]
        ends = dut.valid & ~is_over & (tags.last | dut.missing.any())
        with m.If(accept):
            m.d.sync += [
                is_over.eq((is_over | dut.missing.any()) & ~tags.last),
                has_beat.eq(~tags.last & ~is_over & ~dut.missing.any()),
            ]
        # A packet without a word gives one empty beat.
        is_stored = accept & (gives | (ends & ~has_beat))
        entered, left = Signal(COUNT), Signal(COUNT)
        m.d.sync += [entered.eq(entered + is_stored), left.eq(left + leaves)]
        is_held = entered != left
        m.d.comb += [
            Assert(((entered - left)[:COUNT] == 0) | ((entered - left)[:COUNT] == 1)),
            Assert(probe(m, "dut.is_held", 1) == is_held),
            Assert(probe(m, "dut.over", 1) == is_over),
            # The open beat is the one that is held.
            Assert(~has_beat | (is_held & ~is_over)),
            Assert(~leaves | is_held),
            # A beat is never refused for long: an open output takes one a cycle.
            Assert(dut.ready | ~dut.o.ready),
            Assert(dut.ready | is_held),
            Assert(~is_over | dut.ready),
        ]
        # The beat that is held, and its place in the packet.
        expected = Signal(len(dut.words.as_value()))
        keep, closes, used, first, cut = (
            Signal(lanes),
            Signal(),
            Signal.like(dut.tags.used),
            Signal(),
            Signal(),
        )
        now_cut = Signal()
        is_padded = (~first_gap | dut.missing).all() & tags.rest
        is_left = (dut.read.behind < dut.read.there) | dut.read.has_more
        no_word = dut.missing[0] & tags.first
        m.d.comb += now_cut.eq(Mux(tags.last, is_left, ~is_padded | no_word | dut.read.has_more))
        missing_words = Mux(dut.missing.any(), dut.read.behind - dut.read.there, 0)
        with m.If(is_stored):
            m.d.sync += [
                expected.eq(dut.words.as_value()),
                keep.eq(Mux(gives, ~first_gap, 0)),
                closes.eq(ends),
                used.eq(Mux(gives, dut.read.used - missing_words, 0)),
                first.eq(tags.first),
                cut.eq(now_cut),
            ]
        with m.If(is_held):
            m.d.comb += [
                Assert(has_beat == ~closes),
                Assert(closes | keep.all()),
                Assert(~closes | probe(m, "dut.held.closed", 1)),
                Assert(closes | ~probe(m, "dut.held.closed", 1)),
                Assert(probe(m, "dut.held.words", len(expected)) == expected),
                Assert(probe(m, "dut.held.keep", lanes) == keep),
                Assert(probe(m, "dut.held.cut", 1) == cut),
                Assert(probe(m, "dut.held.used", len(used)) == used),
                Assert(probe(m, "dut.held.first", 1) == first),
            ]
        with m.If(leaves):
            m.d.comb += [
                *(
                    Assert(out.words[k] == self._shown(expected.word_select(k, bits), keep[k]))
                    for k in range(lanes)
                ),
                Assert(out.keep == keep),
                Assert(out.last == (closes | ends & ~gives)),
                Assert(out.last | keep.all()),
                Assert(dut.tags.used == used),
                Assert(dut.tags.first == first),
                Assert(~out.last | (dut.tags.cut == Mux(closes, cut, now_cut))),
                Assert(closes | (dut.tags.in_block == ~(tags.first | tags.last))),
                Cover(out.last & keep.all() & ~closes),
                Cover(out.last & ~keep.all() & (keep != 0)),
                Cover(out.last & (keep == 0) & dut.tags.cut),
            ]
        return m

    def _shown(self, word, is_kept):
        """A word that leaves. Where omitted words are filled in, one that is not kept is zero."""
        return Mux(is_kept, word, 0) if self.dut.config.fills else word


class KeepsTheFill(TailStage):
    """Words behind the packet's last are filled in, too."""

    def elaborate(self, platform):
        config = self.config
        plain = replace(config.format, zero_value=0)
        self.config = replace(config, format=plain, zero_port=False)
        m = super().elaborate(platform)
        self.config = config
        return m


CONFIGS = [Config.parse(f"2x8b8-ones{option}") for option in ("", "-z80", "-asic")]
WIDE = [Config.parse(f"8x32-ones{option}") for option in ("", "-zport", "-zport-asic")]


PROOFS = (
    Proof(
        name="tail_stage",
        promise="A packet whose stream ends itself ends with the last word of the stream",
        components=(TailStage,),
        design=lambda config: Ends(TailStage(config)),
        sizes=named(*CONFIGS, *WIDE),
        broken=(
            *faults(
                CONFIGS[0],
                5,
                stuck_at(0, "dut.over"),
                late("dut.cut"),
                stuck_at(1, "dut.ready"),
                stuck_at(1, "dut.held.keep", 1),
            ),
            *swapped(5, {"words behind the end": lambda: Ends(KeepsTheFill(CONFIGS[1]))}),
        ),
    ),
)
