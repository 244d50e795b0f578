"""Decompression of one channel's stripes, and the way around it."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.stream import unit_class
from cdma.hdl.codecs import config_of
from cdma.hdl.engine.common.errors import ErrorSlot
from cdma.hdl.engine.common.records import ErrorReport, Row, Tag
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, thermometer


class CodedStripe(data.StructLayout):
    """What is to be known of a stripe: ``words`` to give out, ``raw``, and its ``tag``."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "words": unsigned(config.stripe_words.bit_length()),
                "raw": unsigned(1),
                "tag": Tag(),
            }
        )


class StripeDecompressor(wiring.Component):
    """Decompress stripes, or pass raw ones around the decompressor.

    A raw stripe waits until the decompressor is empty, so that beats keep their order. Throughput
    and latency are those of the codec's decompressor, with one cycle more for each stripe; a raw
    row passes combinationally.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i_stripe : In stream of :class:`CodedStripe`, one for each stripe
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`
    channel : In, for error reports
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`: errors in the
        decompressor's status
    done : Out, one cycle: the oldest stripe was given, and its status is known
    idle : Out, no stripe is at hand
    """

    i_stripe: stream.Interface
    i: stream.Interface
    channel: Signal
    o: stream.Interface
    o_error: stream.Interface
    done: Signal
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        self.unit_config = config_of(config.format, config.lanes)
        super().__init__(
            {
                "i_stripe": In(stream.Signature(CodedStripe(config))),
                "i": In(stream.Signature(Row(config))),
                "channel": In(7),
                "o": Out(stream.Signature(Beat(self.unit_config))),
                "o_error": Out(stream.Signature(ErrorReport())),
                "done": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, size = config.lanes, config.word_bytes
        unit = unit_class("decompressor", self.unit_config)(self.unit_config)
        m.submodules.decompressor = unit
        m.submodules.tags = tags = Queue(Tag(), 2)  # of the stripes in the decompressor
        stripe, row = self.i_stripe.payload, self.i.payload
        commanded, commands, passes = Signal(), Signal(), Signal()
        keep = Cat(kept.replicate(size) for kept in thermometer(row.count, lanes))
        if config.has_padding:
            nbytes = Signal(range(config.beat_bytes + 1))
            m.d.comb += nbytes.eq(row.count * size - row.missing)
            keep = thermometer(nbytes, config.beat_bytes)
        is_raw = self.i_stripe.valid & stripe.raw
        is_coded = self.i_stripe.valid & ~stripe.raw & commanded
        m.d.comb += [
            commands.eq(
                self.i_stripe.valid & ~stripe.raw & ~commanded & tags.i.ready & unit.i_command.ready
            ),
            unit.i_command.valid.eq(self.i_stripe.valid & ~stripe.raw & ~commanded & tags.i.ready),
            unit.i_command.payload.words.eq(stripe.words),
            tags.i.valid.eq(commands),
            tags.i.payload.eq(stripe.tag),
            unit.i.valid.eq(self.i.valid & is_coded),
            unit.i.payload.words.eq(row.words),
            unit.i.payload.keep.eq(keep),
            unit.i.payload.last.eq(row.last),
            # A stripe leaves the decompressor when its status is taken, behind its last beat.
            passes.eq(is_raw & ~tags.valid.any()),
            self.i.ready.eq(Mux(is_raw, passes & self.o.ready, is_coded & unit.i.ready)),
            self.i_stripe.ready.eq(self.i.valid & self.i.ready & row.last),
            self.o.valid.eq(Mux(passes, self.i.valid, unit.o.valid)),
            unit.o.ready.eq(self.o.ready & ~passes),
            self.done.eq(unit.o_status.valid | (passes & self.i_stripe.ready)),
            self.idle.eq(~self.i_stripe.valid & ~tags.valid.any() & ~self.o_error.valid),
        ]
        with m.If(passes):
            m.d.comb += [
                self.o.payload.words.eq(row.words),
                self.o.payload.keep.eq(keep),
                self.o.payload.last.eq(row.last),
            ]
        with m.Else():
            m.d.comb += self.o.payload.eq(unit.o.payload)
        with m.If(commands):
            m.d.sync += commanded.eq(1)
        with m.Elif(self.i_stripe.ready):
            m.d.sync += commanded.eq(0)
        self._report(m, unit, tags)
        return m

    def _report(self, m, unit, tags):
        """Report what the decompressor objects to."""
        m.submodules.slot = slot = ErrorSlot()
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        status, tag = unit.o_status, tags.o.payload
        m.d.comb += [
            status.ready.eq(1),
            tags.o.ready.eq(status.valid),
            slot.valid.eq(status.valid & (status.payload.error != 0)),
            slot.report.tag.eq(tag),
            slot.report.status.eq(status.payload.error),
            slot.report.where.eq(tag.offset + status.payload.bytes),
            slot.report.channel.eq(self.channel),
        ]
