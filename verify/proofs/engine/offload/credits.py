"""Credits of an offload channel: reads always find room, and never wait for ever.

Reader and compressor are replaced by components that may do all that a reader and a codec may do. A
reader gives only beats that it charged: the proof of the reader. A stripe's rows hold its masks
and its non-zero words: the proofs of the compressor.
"""

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
from cdma.verify.proofs.proof import Proof, faults

STRIPES = 3  # most stripes inside the codec


class AnyCodec(wiring.Component):
    """Any codec: it takes beats at any time, and gives masks and non-zero words at any time.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.codec.StripeCompressor`, and:
    pending : Out, words that it holds and that are not given yet
    whole : Out, stripes that have entered with all beats and have a row left
    is_open : Out, a stripe has entered in part
    enters : Out, a beat is taken
    begins : Out, ... that begins a block of a coded stripe
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
                "whole": Out(range(STRIPES + 1)),
                "is_open": Out(1),
                "enters": Out(1),
                "begins": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.i.payload
        lanes, masks = config.lanes, config.format.mask_words
        block_beats = config.block_words // lanes
        whole, is_open = self.whole, self.is_open
        place = Signal(range(max(2, block_beats)))
        nonzeros, gives = Signal(range(lanes + 1)), Signal()
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "codec_ready") & (whole != STRIPES)),
            self.enters.eq(self.i.valid & self.i.ready),
            Assume(beat.count <= lanes),
            nonzeros.eq(Mux(beat.raw, beat.count, anything(m, len(nonzeros), "nonzeros"))),
            Assume(nonzeros <= beat.count),
            self.begins.eq(self.enters & (place == 0) & ~beat.raw),
        ]
        # A raw row is given in the cycle in which its beat is taken.
        pending, are_whole, stays_open = Signal(len(self.pending) + 1), Signal(3), Signal()
        m.d.comb += [
            pending.eq(self.pending + Mux(self.enters, nonzeros, 0) + Mux(self.begins, masks, 0)),
            are_whole.eq(whole + (self.enters & beat.last)),
            stays_open.eq(Mux(self.enters, ~beat.last, is_open)),
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
                Assume((count != 0) & (count <= lanes) & (count <= pending)),
                Assume(last | (count == lanes)),
                Assume(~last | (are_whole != 0)),
                # With the last row of the only stripe, all words have left.
                Assume(~last | (are_whole != 1) | stays_open | (count == pending)),
            ]
        m.d.sync += [
            # A beat is counted in the cycle after it is taken.
            self.refund.eq(Mux(self.enters, lanes - nonzeros, 0)),
            self.status_valid.eq(self.enters & beat.last),
            whole.eq(are_whole - (gives & last)),
            self.pending.eq(pending - Mux(gives, count, 0)),
        ]
        with m.If(self.enters):
            wraps = beat.last | (place == block_beats - 1)
            m.d.sync += [is_open.eq(~beat.last), place.eq(Mux(wraps, 0, place + 1))]
        return m


class AnyReader(wiring.Component):
    """Any reader: it charges bursts as far as credits go, and gives the beats that it charged.

    Members
    -------
    as of :class:`~cdma.hdl.engine.offload.reader.StripeReader`, and:
    beats, blocks : Out, beats and blocks that were charged and are not given yet
    stripes : Out, stripes that were begun and whose last beat is not given yet
    begins : In, the beat that is given begins a block
    """

    def __init__(self, config, real):
        self.config = config
        words = config.stage_bytes // config.word_bytes
        super().__init__(
            {
                **dict(real.signature.members.items()),
                "beats": Out(range(words)),
                "blocks": Out(range(words)),
                "stripes": Out(range(words)),
                "begins": In(1),
            }
        )
        self.most = words

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, masks = config.lanes, config.format.mask_words
        burst = config.burst_bytes // config.beat_bytes
        most_blocks = max(1, config.burst_bytes // config.block_bytes)
        beats = anything(m, range(burst + 1), "asked_beats")
        blocks = anything(m, range(most_blocks + 1), "asked_blocks")
        asks, opens = anything(m, 1, "asks"), anything(m, 1, "opens")
        wishes = Signal.like(self.charge)
        gives = self.o.valid & self.o.ready
        goes = Signal()
        m.d.comb += [
            Assume((beats != 0) & (beats <= burst) & (blocks <= most_blocks)),
            wishes.eq(lanes * beats + masks * blocks + Mux(opens, lanes, 0)),
            goes.eq(asks & (self.free >= wishes) & (~opens | self.has_slot)),
            self.charges.eq(goes),
            self.charge.eq(wishes),
            self.opens.eq(goes & opens),
            self.waits_credit.eq(asks & ~goes),
            self.i.ready.eq(anything(m, 1, "reader_ready")),
            self.o.valid.eq(anything(m, 1, "gives") & (self.beats != 0) & (self.stripes != 0)),
            self.o.payload.as_value().eq(anything(m, len(self.o.payload.as_value()), "beat")),
            self.idle.eq(self.beats == 0),
            Assume(~gives | ~self.begins | (self.blocks != 0)),
        ]
        m.d.sync += [
            self.beats.eq(self.beats + Mux(goes, beats, 0) - gives),
            self.blocks.eq(self.blocks + Mux(goes, blocks, 0) - (gives & self.begins)),
            self.stripes.eq(self.stripes + self.opens - (gives & self.o.payload.last)),
        ]
        return m


class AlwaysHasRoom(Elaboratable):
    """Free words + words that were charged and have not arrived + words in the codec + rows stored
    are all of STAGE.

    Each stripe is charged a row more, until its last row, which may be partial, is stored. Rows and
    statuses leave at any time. That STAGE is ready for each row is an assertion of the channel.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        config = dut.config
        lanes, masks = config.lanes, config.format.mask_words
        dut._MustUse__silence = dut.reader._MustUse__silence = True
        dut.reader = reader = AnyReader(config, dut.reader)
        codec = AnyCodec(config)
        with mock.patch.object(channel, "StripeCompressor", return_value=codec):
            body = dut.elaborate(platform)
        m.submodules.dut = body
        leaves = take(m, dut.o, "o")
        take(m, dut.o_status, "status")
        total = config.stage_bytes // config.word_bytes
        m.d.comb += [reader.begins.eq(codec.begins), dut.i.valid.eq(anything(m, 1, "i_valid"))]
        partial = Signal(range(2 * total))  # stripes whose last row is not stored
        m.d.sync += partial.eq(partial + reader.opens - (codec.o_valid & codec.o.last))
        level = probe(m, "dut.stage.level", (total // lanes + 1).bit_length())
        free = probe(m, "dut.free", total.bit_length())
        # Credits come back in a register.
        back = codec.refund + probe(m, "dut.refunded", (3 * lanes).bit_length())
        due = lanes * reader.beats + masks * reader.blocks
        most_charge = (1 << len(reader.charge)) - 1
        m.d.comb += [
            Assert(free + back + due + codec.pending + lanes * (partial + level) == total),
            Assert(partial == reader.stripes + codec.whole),
            Assert(~codec.is_open | (reader.stripes != 0)),
            Assert(codec.whole <= STRIPES),
            Cover(reader.waits_credit & (level == 0)),
            Cover((free == total - lanes) & leaves),
            Cover(free < lanes),
        ]
        # Neither FIFO holds more than its depth.
        for fifo, depth in (("stage", total // lanes), ("statuses", dut.slots)):
            stored = probe(m, f"dut.{fifo}.stored", depth.bit_length())
            m.d.comb += Assert(stored <= depth)
        # The status of each stripe has its slot.
        slots = probe(m, "dut.slots", dut.slots.bit_length())
        statuses = probe(m, "dut.statuses.level", (dut.slots + 1).bit_length())
        m.d.comb += [
            Assert(slots + reader.stripes + codec.status_valid + statuses == dut.slots),
            Assert(
                total >= min(most_charge, (config.burst_bytes // config.beat_bytes + 2) * lanes)
            ),
        ]
        # Credits are missing only while something is on its way that gives some back.
        is_ahead = (reader.beats != 0) | (reader.blocks != 0) | (codec.pending != 0)
        m.d.comb += Assert((free + back == total) | is_ahead | (partial != 0) | (level != 0))
        return m


PROOFS = (
    Proof(
        name="credits",
        promise="Free and charged credits are all of STAGE: a read always finds room, and credits "
        "are missing only while some are on their way back",
        components=(OffloadChannel,),
        design=lambda config: AlwaysHasRoom(OffloadChannel(config)),
        sizes={"2 lanes, 16 rows": small()},
        slow=("2 lanes, 16 rows",),
        broken=faults(
            small(),
            20,
            late("dut.free"),
            stuck_at(0, "dut.stage.level", 0),
        ),
    ),
)
