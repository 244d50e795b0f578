"""Credits of an offload channel whose codec knows the size of a stripe at its end only.

As in :mod:`~cdma.verify.proofs.engine.offload.credits`, reader and compressor are replaced by
components that may do all that a reader and a codec may do. A reader gives only beats that it
charged, and all beats of each stripe: the proof of the reader. A stripe has no more rows than it
was charged for, and its status comes with its last row or behind it: the proof of the codec.
"""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.offload import channel
from cdma.hdl.engine.offload.channel import OffloadChannel
from cdma.hdl.engine.offload.codec import StripeStatus
from cdma.hdl.engine.offload.reader import DeviceBeat
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.engine.small import small_late
from cdma.verify.proofs.proof import Proof, faults, swapped

STRIPES = 3  # most stripes inside the codec


class AnyLateCodec(wiring.Component):
    """Any codec that counts late: it takes beats and gives rows at any time, rows of the oldest
    stripe first, and gives back what remains of a stripe's charge with its status.

    A row may be given in the cycle in which its words enter: that of a raw stripe.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.stream_codec.StreamStripeCompressor`, and:
    whole : Out, stripes that have entered with all beats and have a row left
    owed : Out, stripes whose rows are given, and whose status is not
    older : Out, words that those were charged for, less those of their rows
    is_open : Out, a stripe has entered in part
    mine : Out, words that this stripe was charged for as far as it entered, less its rows'
    entered : Out, its beats
    """

    def __init__(self, config):
        self.config = config
        words = range(2 * config.stage_bytes // config.word_bytes)
        most = (config.stripe_beats + config.growth_beats) * config.lanes
        super().__init__(
            {
                "i": In(stream.Signature(DeviceBeat(config))),
                "o_valid": Out(1),
                "o": Out(Row(config)),
                "status_valid": Out(1),
                "status": Out(StripeStatus()),
                "refund": Out(range(most + 1)),
                "whole": Out(range(STRIPES + 1)),
                "owed": Out(range(STRIPES + 1)),
                "older": Out(words),
                "is_open": Out(1),
                "mine": Out(words),
                "entered": Out(range(config.stripe_beats + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        enters, ends = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "codec_ready") & (self.whole + self.owed < STRIPES)),
            enters.eq(self.i.valid & self.i.ready),
            ends.eq(enters & self.i.payload.last),
            Assume(~enters | (self.entered != config.stripe_beats)),
        ]
        # With the beat that enters.
        growth = Mux(self.is_open, 0, config.growth_beats)
        whole, mine, older = (Signal(len(each) + 1) for each in (self.whole, self.mine, self.older))
        m.d.comb += [
            whole.eq(self.whole + ends),
            mine.eq(self.mine + Mux(enters, lanes * (1 + growth), 0)),
            older.eq(self.older + Mux(ends, mine, 0)),
        ]
        # Rows: of the oldest stripe.
        gives, last = anything(m, 1, "codec_gives"), anything(m, 1, "o_last")
        count, is_older = anything(m, len(self.o.count), "o_count"), whole != 0
        m.d.comb += [
            self.o_valid.eq(gives),
            self.o.count.eq(count),
            self.o.last.eq(last),
        ]
        with m.If(gives):
            m.d.comb += [
                Assume((count != 0) & (count <= lanes) & (last | (count == lanes))),
                Assume(Mux(is_older, older, mine) >= lanes),
                Assume(is_older | ~last),
            ]
        # Statuses, each with what is not used; that of the only stripe, with all of this.
        owed, rest = Signal(len(self.owed) + 1), Signal.like(older)
        refund = anything(m, len(self.refund), "any_refund")
        m.d.comb += [
            owed.eq(self.owed + (gives & last)),
            rest.eq(older - Mux(gives & is_older, lanes, 0)),
            self.status_valid.eq(anything(m, 1, "gives_status") & (owed != 0)),
            self.refund.eq(Mux(self.status_valid, refund, 0)),
        ]
        with m.If(self.status_valid):
            m.d.comb += [
                Assume(refund <= rest),
                Assume((whole != (gives & last)) | (owed != 1) | (refund == rest)),
            ]
        m.d.sync += [
            self.whole.eq(whole - (gives & last)),
            self.owed.eq(owed - self.status_valid),
            self.mine.eq(Mux(ends, 0, mine - Mux(gives & ~is_older, lanes, 0))),
            self.older.eq(rest - self.refund),
        ]
        with m.If(enters):
            m.d.sync += [
                self.is_open.eq(~ends),
                self.entered.eq(Mux(ends, 0, self.entered + 1)),
            ]
        return m


class AnyStripeReader(wiring.Component):
    """Any reader for such a codec: it charges a stripe's bursts, one stripe after the other, and
    gives the beats that it charged.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.reader.StripeReader`, and:
    beats : Out, beats that were charged and are not given yet
    stripes : Out, stripes that were begun and whose last beat is not given yet
    asked, left : Out, beats of the newest stripe that were charged, and that were not
    """

    def __init__(self, config, real):
        self.config = config
        size = range(config.stripe_beats + 1)
        words = range(config.stage_bytes // config.word_bytes)
        super().__init__(
            {
                **dict(real.signature.members.items()),
                "beats": Out(words),
                "stripes": Out(words),
                "asked": Out(size),
                "left": Out(size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        burst = config.burst_bytes // config.beat_bytes
        beats = anything(m, range(burst + 1), "asked_beats")
        size, length = anything(m, len(self.left), "stripe_beats"), Signal.like(self.left)
        opens, asks, goes = Signal(), anything(m, 1, "asks"), Signal()
        beat = self.o.payload
        gives, stripes = Signal(), Signal.like(self.stripes)
        m.d.comb += [
            opens.eq(self.left == 0),
            length.eq(Mux(opens, size, self.left)),
            Assume((beats != 0) & (beats <= burst) & (beats <= length)),
            Assume(length <= config.stripe_beats),
            self.charge.eq(lanes * (beats + Mux(opens, config.growth_beats, 0))),
            goes.eq(asks & (self.free >= self.charge) & (~opens | self.has_slot)),
            self.charges.eq(goes),
            self.opens.eq(goes & opens),
            self.waits_credit.eq(asks & ~goes),
            self.i.ready.eq(anything(m, 1, "reader_ready")),
            self.o.valid.eq(anything(m, 1, "gives") & (self.beats != 0)),
            beat.as_value().eq(anything(m, len(beat.as_value()), "beat")),
            self.idle.eq(self.beats == 0),
            gives.eq(self.o.valid & self.o.ready),
            stripes.eq(self.stripes - (gives & beat.last)),
        ]
        # All beats of a stripe are given, its last one as such.
        with m.If(self.o.valid):
            m.d.comb += [
                Assume((self.stripes != 1) | (beat.last == ((self.left == 0) & (self.beats == 1)))),
                Assume((self.stripes != 2) | ~beat.last | (self.beats - 1 == self.asked)),
                Assume(self.beats - 1 + (self.left != 0) + beat.last >= self.stripes),
            ]
        m.d.sync += [
            self.beats.eq(self.beats + Mux(goes, beats, 0) - gives),
            self.stripes.eq(stripes + self.opens),
        ]
        with m.If(goes):
            m.d.sync += [
                self.left.eq(length - beats),
                self.asked.eq(Mux(opens, 0, self.asked) + beats),
            ]
        return m


class NeverLacksCredits(Elaboratable):
    """Free words + words on their way back + words that were charged and have not entered the
    codec, or have no row yet + rows stored are all of STAGE. So STAGE is ready for each row.

    When nothing is on its way, all words are free but for those of the stripe that is read in part,
    and there are enough for the rest of this stripe.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        config, lanes = dut.config, dut.config.lanes
        dut._MustUse__silence = dut.reader._MustUse__silence = True
        dut.reader = reader = AnyStripeReader(config, dut.reader)
        codec = AnyLateCodec(config)
        with mock.patch.object(channel, "StreamStripeCompressor", return_value=codec):
            m.submodules.dut = dut.elaborate(platform)
        leaves = take(m, dut.o, "o")
        take(m, dut.o_status, "status")
        m.d.comb += dut.i.valid.eq(anything(m, 1, "i_valid"))
        total = config.stage_bytes // config.word_bytes
        level = probe(m, "dut.stage.level", (total // lanes + 1).bit_length())
        free = probe(m, "dut.free", total.bit_length())
        back = probe(m, "dut.refunded", len(codec.refund) + 1)
        not_begun = reader.stripes - codec.is_open
        due = lanes * (reader.beats + config.growth_beats * not_begun)
        is_quiet = (reader.beats == 0) & (codec.whole == 0) & (codec.owed == 0) & (level == 0)
        m.d.comb += [
            Assert(free + back + due + codec.mine + codec.older + lanes * level == total),
            Cover(reader.waits_credit & (level == 0) & codec.is_open),
            Cover((free == total - lanes) & leaves),
            Cover(free < lanes),
            Cover((codec.whole == 1) & (codec.owed == 1) & codec.is_open),
            # No credit is lost, and the stripe at hand gets those that it lacks.
            Assert(~is_quiet | (back != 0) | (reader.stripes <= 1)),
            Assert(~is_quiet | (reader.stripes != 0) | (free + back == total)),
            Assert(~is_quiet | (free + back >= lanes * reader.left)),
            Cover(is_quiet & (reader.left != 0) & (back == 0)),
        ]
        # Invariants: what is where.
        ones = codec.mine <= lanes * (codec.entered + config.growth_beats)
        m.d.comb += [
            Assert(~codec.is_open | (reader.stripes != 0)),
            Assert(codec.whole + codec.owed <= STRIPES),
            Assert(Mux(codec.is_open, ones & (codec.entered != 0), codec.mine == 0)),
            Assert(codec.is_open | (codec.entered == 0)),
            Assert(codec.entered <= config.stripe_beats),
            Assert((codec.whole + codec.owed != 0) | (codec.older == 0)),
            Assert(reader.beats + (reader.left != 0) >= reader.stripes),
            Assert((reader.stripes != 0) | ((reader.beats == 0) & (reader.left == 0))),
            Assert((reader.stripes != 1) | (codec.entered + reader.beats == reader.asked)),
            Assert((reader.stripes == 0) | (reader.asked != 0)),
            Assert(reader.asked + reader.left <= config.stripe_beats),
        ]
        # Neither FIFO holds more than its depth, and the status of each stripe has its slot.
        for fifo, depth in (("stage", total // lanes), ("statuses", dut.slots)):
            stored = probe(m, f"dut.{fifo}.stored", depth.bit_length())
            m.d.comb += Assert(stored <= depth)
        slots = probe(m, "dut.slots", dut.slots.bit_length())
        statuses = probe(m, "dut.statuses.level", (dut.slots + 1).bit_length())
        held = reader.stripes + codec.whole + codec.owed
        m.d.comb += Assert(slots + held + statuses == dut.slots)
        return m


def too_small():
    """A channel without room for what a stripe can grow: it waits for ever."""
    return NeverLacksCredits(OffloadChannel(replace(small_late(), stage_bytes=16)))


PROOFS = (
    Proof(
        name="late_credits",
        promise="With a codec that counts late, free and charged credits are all of STAGE, none is "
        "lost, and the stripe that is read always gets those that it lacks",
        components=(OffloadChannel,),
        design=lambda config: NeverLacksCredits(OffloadChannel(config)),
        sizes={"2 lanes, 16 rows": small_late()},
        slow=("2 lanes, 16 rows",),
        broken=(
            *faults(
                small_late(),
                20,
                late("dut.free"),
                stuck_at(0, "dut.stage.level", 0),
                stuck_at(0, "dut.refund", 2),
                inverted("dut.refunded", 1),
            ),
            *swapped(20, {"STAGE of one stripe": too_small}),
        ),
    ),
)
