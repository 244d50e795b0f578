"""One channel of a prefetch: buffer, decompressor and writer."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import BURST_BYTES, EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.errors import ErrorSlot
from cdma.hdl.engine.common.records import ErrorReport, Halt, Row, Tag, is_halted
from cdma.hdl.engine.common.writer import BurstWriter
from cdma.hdl.engine.job import Events, WriteClient
from cdma.hdl.engine.prefetch.codec import CodedStripe, StripeDecompressor
from cdma.hdl.engine.prefetch.tasks import Task
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.fifo import Fifo

TASKS = 16  # stripes that wait in a channel


class _Place(data.StructLayout):
    """Place of a stripe in device memory."""

    def __init__(self, config: EngineConfig):
        super().__init__({"address": unsigned(config.address_bits), "tag": Tag()})


class PrefetchChannel(wiring.Component):
    """Keep rows in the buffer QUEUE, decompress them and write the words in bursts.

    Throughput one beat a cycle on the side that has more of them.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i_task : In stream of :class:`~cdma.hdl.engine.prefetch.tasks.Task`
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`, of the tasks in order
    halt : In, stripes that get no new address
    discard : In, write nothing
    lost : In, the channel is in quarantine: nothing more is written, each stripe is a TIMEOUT
    hold : In, issue no address in this cycle
    attr, channel : In, attributes of the addresses; for error reports
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`
    o_error : Out streams of :class:`~cdma.hdl.engine.common.records.ErrorReport`: of the codec, of
        the writer, of quarantine
    outstanding, issued : Out, see :class:`~cdma.hdl.engine.common.writer.BurstWriter`
    events : Out, :class:`~cdma.hdl.engine.job.Events`
    takes, decoded, written : Out, one cycle: a stripe is taken; the next one in order was given by
        the codec; was answered by the memory
    drained : Out, the writer's buffer is empty
    idle : Out, nothing is to be done
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, size = config.address_bits, config.beat_bytes
        depth = max(2 * BURST_BYTES // size, 4)
        most = config.channel_writes
        self.writer = BurstWriter(bits, size, depth, Status.DEVICE_SLVERR, most)
        super().__init__(
            {
                "i_task": In(stream.Signature(Task(config))),
                "i": In(stream.Signature(Row(config))),
                "halt": In(Halt()),
                "discard": In(1),
                "lost": In(1),
                "hold": In(1),
                "attr": In(Attributes()),
                "channel": In(7),
                "client": Out(WriteClient(bits, size)),
                "o_error": Out(stream.Signature(ErrorReport())).array(3),
                "outstanding": Out(self.writer.outstanding.shape()),
                "issued": Out(self.writer.issued.shape()),
                "events": Out(Events()),
                "takes": Out(1),
                "decoded": Out(1),
                "written": Out(1),
                "drained": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.queue = queue = Fifo(Row(config), config.queue_bytes // config.beat_bytes)
        m.submodules.stripes = stripes = RowBuffer(CodedStripe(config), TASKS, pipe=False)
        m.submodules.places = places = RowBuffer(_Place(config), 2 * TASKS, pipe=False)
        m.submodules.codec = codec = StripeDecompressor(config)
        m.submodules.writer = writer = self.writer
        task = self.i_task.payload
        shift = config.word_bytes.bit_length() - 1
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, codec.i)
        wiring.connect(m, stripes.o, codec.i_stripe)
        wiring.connect(m, writer.client, wiring.flipped(self.client))
        wiring.connect(m, codec.o_error, wiring.flipped(self.o_error[0]))
        wiring.connect(m, writer.o_error, wiring.flipped(self.o_error[1]))
        m.d.comb += [
            self.i_task.ready.eq(stripes.i.ready & places.i.ready),
            stripes.i.valid.eq(self.i_task.valid & places.i.ready),
            stripes.i.payload.words.eq(task.bytes >> shift),
            stripes.i.payload.raw.eq(task.raw),
            stripes.i.payload.tag.eq(task.tag),
            places.i.valid.eq(self.i_task.valid & stripes.i.ready),
            places.i.payload.address.eq(task.address),
            places.i.payload.tag.eq(task.tag),
            codec.channel.eq(self.channel),
            self.takes.eq(self.i_task.valid & self.i_task.ready),
            self.decoded.eq(codec.done),
            self.written.eq(writer.ends & ~self.lost),
            self.outstanding.eq(writer.outstanding),
            self.issued.eq(writer.issued),
            self.drained.eq(writer.idle),
            self.events.raw_beats.eq(codec.o.valid & codec.o.ready),
            self.events.stream_beats.eq(queue.o.valid & queue.o.ready),
            self.events.rate.eq(self.hold & writer.is_ready),
            self.events.address.eq(writer.client.aw.valid & ~writer.client.aw.ready),
            self.events.stripe_valid.eq(places.o.valid),
            self.events.stripe.eq(places.o.payload.tag.number),
        ]
        self._write(m, codec, places, writer)
        lost_error, was_lost = self._report_lost(m, codec, places, writer)
        m.d.comb += self.idle.eq(
            ~places.o.valid
            & codec.idle
            & (queue.level == 0)
            # Not in the cycle in which the channel is lost: the report of that comes a cycle later.
            & (writer.idle | (was_lost & ~writer.o_error.valid))
            & ~lost_error.o.valid
        )
        return m

    def _write(self, m, codec, places, writer):
        """Place the beats of each stripe."""
        size = self.config.beat_bytes
        beat, place = codec.o.payload, places.o.payload
        offset = Signal(range(self.config.stripe_bytes + 1))
        moves = Signal()
        # The carry into the upper half of an address comes from a register: the beat at which it
        # changes waits for a cycle.
        half = self.config.address_bits // 2
        low, carry, is_placed = Signal(half + 1), Signal(), Signal()
        m.d.sync += carry.eq(low[-1])
        m.d.comb += [
            low.eq(place.address[:half] + offset),
            is_placed.eq(places.o.valid & (low[-1] == carry)),
            writer.i.valid.eq(codec.o.valid & is_placed),
            codec.o.ready.eq(writer.i.ready & is_placed),
            moves.eq(codec.o.valid & codec.o.ready),
            places.o.ready.eq(moves & beat.last),
            writer.i.payload.address.eq(Cat(low[:half], place.address[half:] + carry)),
            writer.i.payload.data.eq(beat.words.as_value()),
            writer.i.payload.strobe.eq(beat.keep),
            writer.i.payload.tag.eq(place.tag),
            writer.i.payload.last.eq(beat.last),
            writer.halt.eq(self.halt),
            writer.discard.eq(self.discard | self.lost),
            writer.hold.eq(self.hold),
            writer.attr.eq(self.attr),
            writer.channel.eq(self.channel),
        ]
        with m.If(moves):
            m.d.sync += offset.eq(Mux(beat.last, 0, offset + size))

    def _report_lost(self, m, codec, places, writer):
        """Report TIMEOUT: of the oldest burst when the channel is lost, then of each stripe.

        Gives the slot of the reports, and whether the channel was lost in the cycle before.
        """
        m.submodules.lost_error = slot = ErrorSlot()
        wiring.connect(m, slot.o, wiring.flipped(self.o_error[2]))
        was_lost = Signal()
        m.d.sync += was_lost.eq(self.lost)
        place, report = places.o.payload, slot.report
        is_stripe = (
            codec.o.valid & places.o.valid & ~is_halted(self.halt, place.tag.job, place.tag.number)
        )
        m.d.comb += [
            report.status.eq(Status.TIMEOUT),
            report.channel.eq(self.channel),
            report.halts.eq(1),
        ]
        with m.If(self.lost & ~was_lost & (writer.outstanding != 0)):
            m.d.comb += [
                slot.valid.eq(1),
                report.tag.eq(writer.oldest.tag),
                report.where.eq(writer.oldest.address),
            ]
        with m.Else():
            m.d.comb += [
                slot.valid.eq(self.lost & ~self.discard & is_stripe),
                report.tag.eq(place.tag),
                report.where.eq(place.address),
            ]
        return slot, was_lost
