"""Stripes are compressed or go around the compressor, in order; what they need is counted."""

from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.offload import codec
from cdma.hdl.engine.offload.codec import StripeCompressor
from cdma.hdl.zvc.compressor import Compressor
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.offload.stripes import offer_stripes
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults, named


class AnyCompressor(Compressor):
    """Takes beats at any time, and gives rows of any content while it has a packet.

    It ends as many packets as have ended at its input. ``packets`` have, and ``is_open`` says that
    another has begun.
    """

    def __init__(self, config):
        super().__init__(config)
        self.packets, self.is_open = Signal(9), Signal()

    def elaborate(self, platform):
        m = Module()
        takes, ends = Signal(), Signal()
        words = Value.cast(self.o.payload.words)
        size = self.config.format.word_bytes
        kept = anything(m, self.config.lanes, "kept")
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "i_ready")),
            self.o.valid.eq(anything(m, 1, "o_valid") & ((self.packets != 0) | self.is_open)),
            words.eq(anything(m, len(words), "o_words")),
            # All words before the last row.
            Assume(kept[0] & ((kept & (kept + 1)) == 0)),
            Assume(self.o.payload.last | kept.all()),
            self.o.payload.keep.eq(Cat(bit.replicate(size) for bit in kept)),
            self.o.payload.last.eq(anything(m, 1, "o_last") & (self.packets != 0)),
            takes.eq(self.i.valid & self.i.ready),
            ends.eq(self.o.valid & self.o.ready & self.o.payload.last),
            Assert(self.o.ready & self.o_status.ready),
        ]
        m.d.sync += self.packets.eq(self.packets + (takes & self.i.payload.last) - ends)
        with m.If(takes):
            m.d.sync += self.is_open.eq(~self.i.payload.last)
        return m


class PassesStripes(Elaboratable):
    """Beats of stripes come at any time, raw and to be coded in any order.

    A raw beat is a row of its cycle, and meets no row of the compressor, which is empty. A beat
    that is coded enters the compressor with its words. In the cycle after a beat, the words that
    will need no room are refunded, and behind the last beat the status says whether the coded
    stripe is longer than the words.
    """

    def __init__(self, config):
        self.config, self.dut = config, StripeCompressor(config)

    def elaborate(self, platform):
        m = Module()
        made = []
        with mock.patch.object(
            codec, "Compressor", lambda config: made.append(AnyCompressor(config)) or made[0]
        ):
            m.submodules.dut = elaborated(self.dut, platform)
        (self.unit,) = made
        self._beats(m)
        self._rows(m)
        self._counts(m)
        return m

    def _beats(self, m):
        """Words behind a beat's last are zero."""
        config, beat = self.config, self.dut.i.payload
        self.enters, self.number, is_raw = offer_stripes(m, self.dut.i, config)
        for lane in range(config.lanes):
            m.d.comb += Assume((beat.count > lane) | (beat.words[lane] == 0))
        m.d.comb += Assert(self.unit.is_open == ((self.number != 0) & ~is_raw))

    def _rows(self, m):
        dut, unit, beat, row = self.dut, self.unit, self.dut.i.payload, self.dut.o
        into = unit.i.payload
        m.d.comb += [
            Assert(dut.o_valid == (unit.o.valid | (self.enters & beat.raw))),
            Assert(~(unit.o.valid & dut.i.valid & beat.raw & dut.i.ready)),
            # The compressor takes just the beats that are coded.
            Assert((unit.i.valid & unit.i.ready) == (self.enters & ~beat.raw)),
            Assert(unit.packets <= 128),
            Assert(probe(m, "dut.inside", 8) == unit.packets),
            Assert(~probe(m, "dut.is_empty", 1) | (unit.packets == 0)),
            Cover(self.enters & beat.raw & (self.number == 1)),
            Cover(unit.o.valid & row.last & (unit.packets == 2)),
        ]
        with m.If(self.enters & beat.raw):
            m.d.comb += [
                Assert((unit.packets == 0) & ~unit.is_open),
                Assert(Value.cast(row.words) == Value.cast(beat.words)),
                Assert((row.count == beat.count) & (row.last == beat.last)),
            ]
        with m.If(unit.o.valid):
            ones = unit.o.payload.keep[:: self.config.word_bytes]
            m.d.comb += [
                Assert(Value.cast(row.words) == Value.cast(unit.o.payload.words)),
                Assert(row.last == unit.o.payload.last),
                Assert(row.count == sum(ones[1:], ones[0])),
            ]
        with m.If(unit.i.valid):
            m.d.comb += [
                Assert(Value.cast(into.words) == Value.cast(beat.words)),
                Assert(into.last == beat.last),
            ]
            for lane in range(self.config.lanes):
                kept = into.keep[lane * self.config.word_bytes]
                m.d.comb += Assert(kept == (beat.count > lane))

    def _counts(self, m):
        """Refunds and statuses, from the words of the beat in the cycle before."""
        dut, config, beat = self.dut, self.config, self.dut.i.payload
        was, nonzeros = Signal(beat.shape(), name="was"), Signal(range(config.lanes + 1))
        entered = Signal()
        ones = [word.any() for word in (beat.words[lane] for lane in range(config.lanes))]
        m.d.sync += [
            entered.eq(self.enters),
            was.eq(beat),
            nonzeros.eq(sum(ones[1:], ones[0])),
        ]
        raw_words, coded_words, beats = Signal(8), Signal(8), Signal.like(self.number)
        block_beats = config.block_words // config.lanes
        mask = Mux(beats % block_beats == 0, config.format.mask_words, 0)
        memory, stream = raw_words + was.count, coded_words + nonzeros + mask
        with m.If(entered):
            m.d.sync += [
                beats.eq(Mux(was.last, 0, beats + 1)),
                raw_words.eq(Mux(was.last, 0, memory)),
                coded_words.eq(Mux(was.last, 0, stream)),
            ]
        m.d.comb += [
            Assert(dut.status_valid == (entered & was.last)),
            Assert(dut.refund == Mux(entered, config.lanes - Mux(was.raw, was.count, nonzeros), 0)),
        ]
        with m.If(dut.status_valid):
            m.d.comb += [
                Assert(dut.status.raw == was.raw),
                Assert(dut.status.exceeds == (stream > memory)),
                Assert(Value.cast(dut.status.error) == Value.cast(was.error)),
                Cover(dut.status.exceeds & (beats == 1)),
                Cover(~dut.status.exceeds & was.raw),
            ]
        # Invariants.
        before = probe(m, "dut.before", config.stripe_words.bit_length() + 2).as_signed()
        place = probe(m, "dut.place", max((block_beats - 1).bit_length(), 1))
        m.d.comb += [
            Assert(before == coded_words.as_signed() - raw_words.as_signed()),
            Assert(place == beats % block_beats),
            Assert(raw_words == beats * config.lanes),
            Assert(coded_words <= raw_words + beats * config.format.mask_words),
            Assert(beats < config.stripe_beats),
            Assert(self.number == Mux(entered, Mux(was.last, 0, beats + 1), beats)),
        ]


PROOFS = (
    Proof(
        name="stripe_compressor",
        promise="Stripes leave in order, raw ones as they are; refunds and statuses are exact",
        components=(StripeCompressor,),
        design=PassesStripes,
        sizes=named(small(lanes=2), small(lanes=4)),
        depth=2,
        broken=faults(
            small(lanes=2),
            10,
            stuck_at(1, "dut.is_empty"),
            late("dut.place"),
            stuck_at(0, "dut.nonzeros", 1),
        ),
    ),
)
