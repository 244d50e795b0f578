"""Compression of one channel's stripes, and the way around it."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.offload.reader import DeviceBeat
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.beat import count_thermometer, thermometer
from cdma.hdl.zvc.compressor import Compressor
from cdma.hdl.zvc.config import Config


class StripeStatus(data.StructLayout):
    """What is known of a stripe when its last beat was read.

    Members
    -------
    raw : it is not compressed
    exceeds : compressed, it has more bytes than in memory, whether it is sent so or not
    error : a :class:`~cdma.hdl.engine.common.errors.ReadError`
    """

    def __init__(self):
        super().__init__({"raw": unsigned(1), "exceeds": unsigned(1), "error": ReadError})


class StripeCompressor(wiring.Component):
    """Compress stripes, or pass raw ones around the compressor.

    A raw stripe waits until the compressor is empty, so that rows keep their order. Throughput and
    latency are those of :class:`~cdma.hdl.zvc.compressor.Compressor`; a raw beat passes
    combinationally. ``o`` must be ready whenever it is valid: credits see to that.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.offload.reader.DeviceBeat`
    o_valid, o : Out, a :class:`~cdma.hdl.engine.common.records.Row` in this cycle
    status_valid, status : Out, :class:`StripeStatus` with a stripe's last beat in
    refund : Out, words of a beat that will need no room: zeros, or past the end
    """

    i: stream.Interface
    o_valid: Signal
    o: data.View
    status_valid: Signal
    status: data.View
    refund: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(DeviceBeat(config))),
                "o_valid": Out(1),
                "o": Out(Row(config)),
                "status_valid": Out(1),
                "status": Out(StripeStatus()),
                "refund": Out(range(config.lanes + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, size = config.lanes, config.word_bytes
        unit = Compressor(Config(lanes, config.format))
        m.submodules.compressor = unit
        beat, coded = self.i.payload, unit.o.payload
        inside = Signal(8)  # packets in the compressor
        is_empty = Signal(init=1)  # there is none, known a cycle late
        is_raw, enters, packs = Signal(), Signal(), Signal()
        m.d.comb += [
            is_raw.eq(beat.raw & is_empty),
            unit.i.valid.eq(self.i.valid & ~beat.raw & ~inside[-1]),
            unit.i.payload.words.eq(beat.words),
            unit.i.payload.keep.eq(
                Cat(kept.replicate(size) for kept in thermometer(beat.count, lanes))
            ),
            unit.i.payload.last.eq(beat.last),
            self.i.ready.eq(Mux(beat.raw, is_empty, unit.i.ready & ~inside[-1])),
            enters.eq(self.i.valid & self.i.ready),
            unit.o.ready.eq(1),
            unit.o_status.ready.eq(1),  # counted here, for raw stripes too
        ]
        m.d.comb += packs.eq(unit.i.valid & unit.i.ready & beat.last)
        m.d.sync += [
            inside.eq(inside + packs - (unit.o.valid & unit.o.ready & coded.last)),
            is_empty.eq((inside == 0) & ~packs),
        ]
        with m.If(unit.o.valid):
            m.d.comb += [
                self.o_valid.eq(1),
                self.o.words.eq(coded.words),
                self.o.count.eq(count_thermometer(Cat(coded.keep[k * size] for k in range(lanes)))),
                self.o.last.eq(coded.last),
            ]
        with m.Else():
            m.d.comb += [
                self.o_valid.eq(self.i.valid & is_raw),
                self.o.words.eq(beat.words),
                self.o.count.eq(beat.count),
                self.o.last.eq(beat.last),
            ]
        self._count(m, beat, enters)
        return m

    def _count(self, m, beat, enters):
        """Words that go, and whether the coded stripe would be longer than the raw one.

        A beat's non-zero words are counted in one cycle, and added in the next.
        """
        config = self.config
        block_beats = config.block_words // config.lanes
        nonzeros = Signal(range(config.lanes + 1))
        counted, ends = Signal(), Signal()  # a beat that entered in the cycle before
        words, raw, error = Signal.like(beat.count), Signal(), Signal.like(beat.error)
        # Coded words less words in memory, of the stripe's beats before this one.
        before = Signal(signed(config.stripe_words.bit_length() + 2))
        after = Signal.like(before)
        place = Signal(range(max(block_beats, 2)))  # beat in its block
        m.d.sync += [
            counted.eq(enters),
            # Words past the end are zero.
            nonzeros.eq(popcount(m, Cat(word.any() for word in _words(beat, config)))),
            words.eq(beat.count),
            ends.eq(beat.last),
            raw.eq(beat.raw),
            error.eq(beat.error),
        ]
        m.d.comb += [
            after.eq(before + nonzeros - words + Mux(place == 0, config.format.mask_words, 0)),
            self.refund.eq(Mux(counted, config.lanes - Mux(raw, words, nonzeros), 0)),
            self.status_valid.eq(counted & ends),
            self.status.raw.eq(raw),
            self.status.exceeds.eq(after > 0),
            self.status.error.eq(error),
        ]
        with m.If(counted):
            wraps = ends | (place == block_beats - 1)
            m.d.sync += [
                before.eq(Mux(ends, 0, after)),
                place.eq(Mux(wraps, 0, place + 1)),
            ]


def _words(beat, config):
    return [beat.words[k] for k in range(config.lanes)]
