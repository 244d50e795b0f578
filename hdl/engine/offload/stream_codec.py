"""Compression of one channel's stripes by a codec that knows sizes at the end only."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.stream import unit_class
from cdma.hdl.codecs import config_of
from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.offload.codec import StripeStatus
from cdma.hdl.engine.offload.reader import DeviceBeat
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.zvc.beat import count_thermometer, thermometer

_PACKETS = 16  # whose last beat is in, and whose status is not out


class _Ending(data.StructLayout):
    """What is known of a stripe when its last beat was read: ``raw``, and a ReadError."""

    def __init__(self):
        super().__init__({"raw": unsigned(1), "error": ReadError})


class StreamStripeCompressor(wiring.Component):
    """Compress stripes with a streaming compressor, or pass raw ones around it.

    For codecs whose compressor gives the size of a stripe with its status, and not before. Beats of
    raw stripes enter the compressor too: AUTO asks for their coded size. What it makes of them is
    dropped. A raw stripe waits until no coded one is in the compressor, so that rows keep their
    order; a coded one follows a raw one without a gap.

    Throughput and latency are those of the compressor; a raw beat passes combinationally. ``o``
    must be ready whenever it is valid: credits see to that.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.offload.reader.DeviceBeat`
    o_valid, o : Out, a :class:`~cdma.hdl.engine.common.records.Row` in this cycle
    status_valid, status : Out, :class:`~cdma.hdl.engine.offload.codec.StripeStatus`, behind a
        stripe's last row
    refund : Out, with a status: words that the reader charged for the stripe, less those of its
        rows
    """

    i: stream.Interface
    o_valid: Signal
    o: data.View
    status_valid: Signal
    status: data.View
    refund: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        most = (config.stripe_beats + config.growth_beats) * config.lanes
        super().__init__(
            {
                "i": In(stream.Signature(DeviceBeat(config))),
                "o_valid": Out(1),
                "o": Out(Row(config)),
                "status_valid": Out(1),
                "status": Out(StripeStatus()),
                "refund": Out(range(most + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, size = config.lanes, config.word_bytes
        unit_config = config_of(config.format, lanes)
        m.submodules.compressor = unit = unit_class("compressor", unit_config)(unit_config)
        m.submodules.endings = endings = RowBuffer(_Ending(), _PACKETS, pipe=False)
        beat, coded = self.i.payload, unit.o.payload
        dropped = Signal(range(_PACKETS + 2))  # raw stripes in the compressor, in front of all else
        whole = Signal(range(_PACKETS + 1))  # coded ones in it, of which all beats are in
        is_first = Signal(init=1)
        can_enter, enters, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            can_enter.eq(endings.i.ready & ~(beat.raw & (whole != 0))),
            unit.i.valid.eq(self.i.valid & can_enter),
            unit.i.payload.words.eq(beat.words),
            unit.i.payload.keep.eq(
                Cat(kept.replicate(size) for kept in thermometer(beat.count, lanes))
            ),
            unit.i.payload.last.eq(beat.last),
            self.i.ready.eq(unit.i.ready & can_enter),
            enters.eq(self.i.valid & self.i.ready),
            endings.i.valid.eq(enters & beat.last),
            endings.i.payload.raw.eq(beat.raw),
            endings.i.payload.error.eq(beat.error),
            unit.o.ready.eq(1),
            unit.o_status.ready.eq(1),
            leaves.eq(unit.o.valid & coded.last),
        ]
        with m.If(enters):
            m.d.sync += is_first.eq(beat.last)
        m.d.sync += [
            dropped.eq(dropped + (enters & is_first & beat.raw) - (leaves & (dropped != 0))),
            whole.eq(whole + (enters & beat.last & ~beat.raw) - (leaves & (dropped == 0))),
        ]
        count = Signal(range(config.beat_bytes + 1))  # bytes of a coded row
        m.d.comb += count.eq(count_thermometer(coded.keep))
        with m.If(unit.o.valid & (dropped == 0)):
            m.d.comb += [
                self.o_valid.eq(1),
                self.o.words.eq(coded.words),
                self.o.count.eq((count + (size - 1)) >> (size.bit_length() - 1)),
                self.o.last.eq(coded.last),
            ]
            if config.has_padding:
                m.d.comb += self.o.missing.eq(-count)
        with m.Else():
            m.d.comb += [
                self.o_valid.eq(enters & beat.raw),
                self.o.words.eq(beat.words),
                self.o.count.eq(beat.count),
                self.o.last.eq(beat.last),
            ]
        self._account(m, unit.o_status, endings.o)
        return m

    def _account(self, m, sizes, ending):
        """Status and refund of a stripe, of its words and bytes."""
        config = self.config
        shift = config.word_bytes.bit_length() - 1
        low = config.beat_bytes.bit_length() - 1
        most = config.stripe_bytes + config.growth_beats * config.beat_bytes
        nbytes, in_memory = Signal(range(most + 1)), Signal(range(most + 1))
        beats, rows = Signal(range(most // config.beat_bytes + 1)), Signal.like(self.refund)
        m.d.comb += [
            nbytes.eq(sizes.payload.bytes),
            in_memory.eq(sizes.payload.words << shift),
            beats.eq((in_memory + (config.beat_bytes - 1)) >> low),
            rows.eq(Mux(ending.payload.raw, beats, (nbytes + (config.beat_bytes - 1)) >> low)),
            ending.ready.eq(sizes.valid),
            self.status_valid.eq(sizes.valid),
            self.status.raw.eq(ending.payload.raw),
            self.status.exceeds.eq(nbytes > in_memory),
            self.status.error.eq(ending.payload.error),
            self.refund.eq(
                Mux(sizes.valid, (beats + config.growth_beats - rows) * config.lanes, 0)
            ),
        ]
