"""Credits of an offload channel: reads always find room, and never wait for ever.

Reader and compressor are replaced by components that may do all that a reader and a codec may do. A
reader gives only beats that it charged, and all beats of each stripe: the proof of the reader. A
stripe's rows hold its masks and its non-zero words, and rows come from whole blocks only: the
proofs of the compressor.
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
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults, swapped

STRIPES = 3  # most stripes inside the codec


def block_beats(config) -> int:
    """Beats of a block."""
    return config.block_words // config.lanes


def blocks_begun(config, beats):
    """Blocks that begin in the first ``beats`` beats of a stripe."""
    return (beats + (block_beats(config) - 1)) // block_beats(config)


class AnyCodec(wiring.Component):
    """Any codec: it takes beats at any time, and gives masks and non-zero words at any time, those
    of a block when all beats of the block are taken.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.codec.StripeCompressor`, and:
    pending : Out, words that it holds and that are not given yet
    block : Out, ... of the block that has entered in part
    whole : Out, stripes that have entered with all beats and have a row left
    is_open : Out, a stripe has entered in part
    entered : Out, its beats
    begins : Out, in this cycle a beat is taken that begins a block of a coded stripe
    """

    def __init__(self, config):
        self.config = config
        total = config.stage_bytes // config.word_bytes
        super().__init__(
            {
                "i": In(stream.Signature(DeviceBeat(config))),
                "o_valid": Out(1),
                "o": Out(Row(config)),
                "status_valid": Out(1),
                "status": Out(StripeStatus()),
                "refund": Out(range(config.lanes + 1)),
                "pending": Out(range(2 * total)),
                "block": Out(range(2 * total)),
                "whole": Out(range(STRIPES + 1)),
                "is_open": Out(1),
                "entered": Out(range(config.stripe_beats + 1)),
                "begins": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.i.payload
        lanes, masks, beats = config.lanes, config.format.mask_words, block_beats(config)
        whole, is_open, entered = self.whole, self.is_open, self.entered
        enters, is_first, is_last = (Signal(name=name) for name in ("enters", "first", "last"))
        nonzeros, gives = Signal(range(lanes + 1)), Signal()
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "codec_ready") & (whole != STRIPES)),
            enters.eq(self.i.valid & self.i.ready),
            Assume(~enters | (entered != config.stripe_beats)),
            Assume(beat.count <= lanes),
            nonzeros.eq(Mux(beat.raw, beat.count, anything(m, len(nonzeros), "nonzeros"))),
            Assume(nonzeros <= beat.count),
            is_first.eq(entered % beats == 0),
            is_last.eq(beat.last | (entered % beats == beats - 1)),
            self.begins.eq(enters & is_first & ~beat.raw),
        ]
        # With the beat that enters. A raw row is given in the cycle in which its beat is taken.
        pending, block = Signal(len(self.pending) + 1), Signal(len(self.block) + 1)
        are_whole, stays_open = Signal(3), Signal()
        words = Mux(enters, nonzeros, 0) + Mux(self.begins, masks, 0)
        m.d.comb += [
            pending.eq(self.pending + words),
            block.eq(Mux(enters & (is_last | beat.raw), 0, self.block + words)),
            are_whole.eq(whole + (enters & beat.last)),
            stays_open.eq(Mux(enters, ~beat.last, is_open)),
        ]
        count, last = anything(m, len(self.o.count), "o_count"), anything(m, 1, "o_last")
        m.d.comb += [
            gives.eq(anything(m, 1, "codec_gives")),
            self.o_valid.eq(gives),
            self.o.count.eq(count),
            self.o.last.eq(last),
        ]
        with m.If(gives):
            m.d.comb += [
                Assume((count != 0) & (count <= lanes) & (count + block <= pending)),
                Assume(last | (count == lanes)),
                Assume(~last | (are_whole != 0)),
                # With the last row of the only stripe, all words have left.
                Assume(~last | (are_whole != 1) | stays_open | (count == pending)),
            ]
        m.d.sync += [
            # A beat is counted in the cycle after it is taken.
            self.refund.eq(Mux(enters, lanes - nonzeros, 0)),
            self.status_valid.eq(enters & beat.last),
            whole.eq(are_whole - (gives & last)),
            self.pending.eq(pending - Mux(gives, count, 0)),
            self.block.eq(block),
            is_open.eq(stays_open),
        ]
        with m.If(enters):
            m.d.sync += entered.eq(Mux(beat.last, 0, entered + 1))
        return m


class AnyReader(wiring.Component):
    """Any reader: it charges a stripe's bursts as far as credits go, one stripe after the other,
    and gives the beats that it charged.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.reader.StripeReader`, and:
    beats, blocks : Out, beats and blocks that were charged and are not given yet
    due : Out, words of those
    stripes : Out, stripes that were begun and whose last beat is not given yet
    asked, left : Out, beats of the newest stripe that were charged, and that were not
    raw : Out, the newest stripe is raw
    begins : In, the beat that is given begins a block
    """

    def __init__(self, config, real):
        self.config = config
        words = range(config.stage_bytes // config.word_bytes)
        size = range(config.stripe_beats + 1)
        super().__init__(
            {
                **dict(real.signature.members.items()),
                "beats": Out(words),
                "blocks": Out(words),
                "due": Out(words),
                "stripes": Out(words),
                "asked": Out(size),
                "left": Out(size),
                "raw": Out(1),
                "begins": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.o.payload
        lanes, masks = config.lanes, config.format.mask_words
        burst = config.burst_bytes // config.beat_bytes
        beats, asks = anything(m, range(burst + 1), "asked_beats"), anything(m, 1, "asks")
        size, any_raw = anything(m, len(self.left), "stripe_beats"), anything(m, 1, "any_raw")
        opens, raw, goes, gives = (Signal(name=name) for name in ("new", "is_raw", "goes", "gives"))
        length, done = Signal.like(self.left), Signal.like(self.asked)
        blocks, left_blocks = Signal.like(self.blocks), Signal.like(self.blocks)
        stripes = Signal.like(self.stripes)
        m.d.comb += [
            opens.eq(self.left == 0),
            length.eq(Mux(opens, size, self.left)),
            raw.eq(Mux(opens, any_raw, self.raw)),
            done.eq(Mux(opens, 0, self.asked)),
            Assume((beats != 0) & (beats <= burst) & (beats <= length)),
            Assume(length <= config.stripe_beats),
            blocks.eq(Mux(raw, 0, blocks_begun(config, done + beats) - blocks_begun(config, done))),
            self.charge.eq(lanes * (beats + opens) + masks * blocks),
            goes.eq(asks & (self.free >= self.charge) & (~opens | self.has_slot)),
            self.charges.eq(goes),
            self.opens.eq(goes & opens),
            self.waits_credit.eq(asks & ~goes),
            self.i.ready.eq(anything(m, 1, "reader_ready")),
            self.o.valid.eq(anything(m, 1, "gives") & (self.beats != 0)),
            beat.as_value().eq(anything(m, len(beat.as_value()), "beat")),
            self.idle.eq(self.beats == 0),
            gives.eq(self.o.valid & self.o.ready),
            left_blocks.eq(self.blocks - (gives & self.begins)),
            stripes.eq(self.stripes - (gives & beat.last)),
            Assume(~gives | ~self.begins | (self.blocks != 0)),
        ]
        # All beats of a stripe are given, its last one as such. Of the newest stripe, all is known.
        own = Mux(self.raw, 0, blocks_begun(config, self.asked))
        with m.If(self.o.valid & (self.stripes == 1)):
            m.d.comb += [
                Assume(beat.last == ((self.left == 0) & (self.beats == 1))),
                Assume(beat.raw == self.raw),
            ]
        with m.If(gives & beat.last & (self.stripes == 2)):
            m.d.comb += Assume((self.beats - 1 == self.asked) & (left_blocks == own))
        with m.If(self.o.valid):
            m.d.comb += Assume(self.beats - 1 + (self.left != 0) + beat.last >= self.stripes)
        given = Mux(gives, lanes, 0) + Mux(gives & self.begins, masks, 0)
        m.d.sync += [
            self.beats.eq(self.beats + Mux(goes, beats, 0) - gives),
            self.blocks.eq(left_blocks + Mux(goes, blocks, 0)),
            self.due.eq(self.due - given + Mux(goes, self.charge - Mux(opens, lanes, 0), 0)),
            self.stripes.eq(stripes + self.opens),
        ]
        with m.If(goes):
            m.d.sync += [
                self.left.eq(length - beats),
                self.asked.eq(done + beats),
                self.raw.eq(raw),
            ]
        return m


class AlwaysHasRoom(Elaboratable):
    """Free words + words that were charged and have not arrived + words in the codec + rows stored
    are all of STAGE.

    Each stripe is charged a row more, until its last row, which may be partial, is stored. Rows and
    statuses leave at any time. That STAGE is ready for each row is an assertion of the channel.

    When nothing is on its way, the codec holds less than a row, and the block that is read in part.
    Then there are enough free words for the next burst, whether it begins a stripe or goes on.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        config = dut.config
        lanes = config.lanes
        dut._MustUse__silence = dut.reader._MustUse__silence = True
        dut.reader = reader = AnyReader(config, dut.reader)
        codec = AnyCodec(config)
        with mock.patch.object(channel, "StripeCompressor", return_value=codec):
            m.submodules.dut = dut.elaborate(platform)
        leaves = take(m, dut.o, "o")
        take(m, dut.o_status, "status")
        total = config.stage_bytes // config.word_bytes
        m.d.comb += [reader.begins.eq(codec.begins), dut.i.valid.eq(anything(m, 1, "i_valid"))]
        level = probe(m, "dut.stage.level", (total // lanes + 1).bit_length())
        free = probe(m, "dut.free", total.bit_length())
        # Credits come back in a register.
        back = codec.refund + probe(m, "dut.refunded", (3 * lanes).bit_length())
        partial = reader.stripes + codec.whole  # stripes whose last row is not stored
        most_block = config.block_words - lanes + config.format.mask_words
        is_quiet, tail = Signal(), Signal.like(codec.pending)
        m.d.comb += [
            tail.eq(codec.pending - codec.block),
            is_quiet.eq((reader.beats == 0) & (codec.whole == 0) & (tail < lanes) & (level == 0)),
            Assert(free + back + reader.due + codec.pending + lanes * (partial + level) == total),
            # No stripe waits for ever: the burst at hand, of any size, gets its credits.
            Assert(~is_quiet | (free + back >= reader.charge)),
            Cover(is_quiet & (reader.left != 0) & (codec.block == most_block) & (tail != 0)),
            Cover(reader.waits_credit & (level == 0)),
            Cover((free == total - lanes) & leaves),
            Cover(free < lanes),
        ]
        self._places(m, reader, codec)
        # Neither FIFO holds more than its depth.
        for fifo, depth in (("stage", total // lanes), ("statuses", dut.slots)):
            stored = probe(m, f"dut.{fifo}.stored", depth.bit_length())
            m.d.comb += Assert(stored <= depth)
        # The status of each stripe has its slot.
        slots = probe(m, "dut.slots", dut.slots.bit_length())
        statuses = probe(m, "dut.statuses.level", (dut.slots + 1).bit_length())
        m.d.comb += Assert(slots + reader.stripes + codec.status_valid + statuses == dut.slots)
        return m

    def _places(self, m, reader, codec):
        """Invariants: what is where."""
        config = self.dut.config
        place, begun = codec.entered % block_beats(config), blocks_begun(config, codec.entered)
        masks = config.format.mask_words
        most = config.lanes * place + masks * (place != 0)
        own = Mux(reader.raw, 0, blocks_begun(config, reader.asked) - begun)
        m.d.comb += [
            Assert(reader.due == config.lanes * reader.beats + masks * reader.blocks),
            Assert(~codec.is_open | (reader.stripes != 0)),
            Assert(codec.is_open == (codec.entered != 0)),
            Assert(codec.entered <= config.stripe_beats),
            Assert(codec.whole <= STRIPES),
            Assert(codec.block <= most),
            Assert(codec.block <= codec.pending),
            Assert(reader.beats + (reader.left != 0) >= reader.stripes),
            Assert((reader.stripes != 0) | ((reader.beats == 0) & (reader.left == 0))),
            Assert((reader.stripes == 0) | (reader.asked != 0)),
            Assert(reader.asked + reader.left <= config.stripe_beats),
        ]
        with m.If(reader.stripes == 0):
            m.d.comb += Assert(reader.blocks == 0)
        with m.If(reader.stripes == 1):
            m.d.comb += [
                Assert(codec.entered + reader.beats == reader.asked),
                Assert(reader.blocks == own),
                Assert(~reader.raw | (codec.block == 0)),
            ]


def small_stage(**sizes):
    """A channel whose STAGE is too small: it waits for ever."""
    return AlwaysHasRoom(OffloadChannel(replace(small(), stage_bytes=16, **sizes)))


_LONG_BLOCKS = replace(small(), block_words=16, stripe_bytes=32)

PROOFS = (
    Proof(
        name="credits",
        promise="Free and charged credits are all of STAGE: a read always finds room, and a "
        "stripe that is read always gets the credits of its next burst",
        components=(OffloadChannel,),
        design=lambda config: AlwaysHasRoom(OffloadChannel(config)),
        sizes={"2 lanes, 16 rows": small(), "2 lanes, 16 rows, blocks of 2 bursts": _LONG_BLOCKS},
        slow=("2 lanes, 16 rows", "2 lanes, 16 rows, blocks of 2 bursts"),
        broken=(
            *faults(
                small(),
                20,
                late("dut.free"),
                stuck_at(0, "dut.stage.level", 0),
            ),
            *swapped(
                20,
                {
                    "STAGE of two bursts": small_stage,
                    "STAGE of less than a block": lambda: small_stage(block_words=64),
                },
            ),
        ),
    ),
)
