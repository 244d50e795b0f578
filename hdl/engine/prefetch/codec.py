"""Decompression of one channel's stripes, and the way around it."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.stream import unit_class
from cdma.hdl.codecs import config_of
from cdma.hdl.engine.common.errors import ErrorSlot
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.prefetch.records import StripeError, StripeTag
from cdma.hdl.engine.prefetch.rows import size_bits
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, thermometer


class CodedStripe(data.StructLayout):
    """What is to be known of a stripe: ``words`` to give out, ``raw``, and its ``tag``."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "words": unsigned(config.stripe_words.bit_length()),
                "raw": unsigned(1),
                "tag": StripeTag(config),
            }
        )


class StripeDecompressor(wiring.Component):
    """Decompress stripes, or pass raw ones around the decompressor.

    A stripe is begun when all rows of the one before are taken, a raw one also not before the
    decompressor is empty, so that beats keep their order. Throughput and latency are those of the
    codec's decompressor, with one cycle more for each stripe; a raw row passes combinationally.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i_stripe : In stream of :class:`CodedStripe`, one for each stripe, taken as it is begun
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`
    o_error : Out stream of :class:`~cdma.hdl.engine.prefetch.records.StripeError`: errors in the
        decompressor's status, from the stripe's offset on
    done : Out, one cycle: the oldest stripe was given, and its status is known
    idle : Out, no stripe was begun that is not done, and no report waits
    """

    i_stripe: stream.Interface
    i: stream.Interface
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
                "o": Out(stream.Signature(Beat(self.unit_config))),
                "o_error": Out(stream.Signature(StripeError(config))),
                "done": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        unit = unit_class("decompressor", self.unit_config)(self.unit_config)
        m.submodules.decompressor = unit
        m.submodules.tags = tags = Queue(StripeTag(self.config), 2)  # in the decompressor
        stripe, row, command = self.i_stripe.payload, self.i.payload, unit.i_command
        # The stripe whose rows come: coded or raw, or neither.
        is_coded, is_raw, begins, ends = Signal(), Signal(), Signal(), Signal()
        can_begin, is_empty = Signal(), Signal()
        keep = self._keep(m, row)
        m.d.comb += [
            can_begin.eq(self.i_stripe.valid & ~is_coded & ~is_raw),
            command.valid.eq(can_begin & ~stripe.raw & tags.i.ready),
            command.payload.words.eq(stripe.words),
            # A stripe leaves the decompressor when its status is taken, behind its last beat.
            is_empty.eq(~tags.valid.any()),
            tags.i.valid.eq(command.valid & command.ready),
            tags.i.payload.eq(stripe.tag),
            begins.eq(tags.i.valid | (can_begin & stripe.raw & is_empty)),
            self.i_stripe.ready.eq(begins),
            ends.eq(self.i.valid & self.i.ready & row.last),
            unit.i.valid.eq(self.i.valid & is_coded),
            unit.i.payload.words.eq(row.words),
            unit.i.payload.keep.eq(keep),
            unit.i.payload.last.eq(row.last),
            self.i.ready.eq((is_raw & self.o.ready) | (is_coded & unit.i.ready)),
            self.o.valid.eq((is_raw & self.i.valid) | unit.o.valid),
            unit.o.ready.eq(self.o.ready & ~is_raw),
            self.done.eq(unit.o_status.valid | (is_raw & ends)),
            self.idle.eq(is_empty & ~is_coded & ~is_raw & ~self.o_error.valid),
        ]
        with m.If(begins):
            m.d.sync += [is_coded.eq(~stripe.raw), is_raw.eq(stripe.raw)]
        with m.Elif(ends):
            m.d.sync += [is_coded.eq(0), is_raw.eq(0)]
        with m.If(is_raw):
            m.d.comb += [
                self.o.payload.words.eq(row.words),
                self.o.payload.keep.eq(keep),
                self.o.payload.last.eq(row.last),
            ]
        with m.Else():
            m.d.comb += self.o.payload.eq(unit.o.payload)
        self._report(m, unit, tags)
        return m

    def _keep(self, m, row):
        """Bytes of a row that count, a bit each."""
        config = self.config
        lanes, size = config.lanes, config.word_bytes
        if config.has_padding:
            nbytes = Signal(range(config.beat_bytes + 1))
            m.d.comb += nbytes.eq(row.count * size - row.missing)
            return thermometer(nbytes, config.beat_bytes)
        return Cat(kept.replicate(size) for kept in thermometer(row.count, lanes))

    def _report(self, m, unit, tags):
        """Report what the decompressor objects to."""
        m.submodules.slot = slot = ErrorSlot(StripeError(self.config))
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        status = unit.o_status
        m.d.comb += [
            status.ready.eq(1),
            tags.o.ready.eq(status.valid),
            slot.valid.eq(status.valid & (status.payload.error != 0)),
            slot.report.tag.eq(tags.o.payload),
            slot.report.status.eq(status.payload.error),
            # No stripe of the stream is longer.
            slot.report.where.eq(status.payload.bytes[: size_bits(self.config)]),
        ]
