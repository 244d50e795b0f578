"""Dense packing of rows into beats of the link."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Tag
from cdma.hdl.engine.common.words import Words, WordShifter
from cdma.hdl.engine.common.writer import PlacedBeat
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import thermometer

_STARTS = 16  # more stripes never begin in the words that wait here


class Packer(wiring.Component):
    """Pack rows into beats of the link, without a gap.

    Throughput one beat a cycle while rows are whole; latency 3 cycles. ``i.ready`` comes from
    registers.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new stream begins at ``address``
    address : In, whole beats
    flush : In, no row will come: give the last, partial beat
    i : In stream of :class:`~cdma.hdl.engine.common.words.Words`
    i_start : In stream of :class:`~cdma.hdl.engine.common.records.Tag`: where a stripe begins, not
        after its first row
    o : Out stream of :class:`~cdma.hdl.engine.common.writer.PlacedBeat`, with the tag of the stripe
        that the beat's first byte belongs to
    idle : Out, no word waits
    """

    start: Signal
    address: Signal
    flush: Signal
    i: stream.Interface
    i_start: stream.Interface
    o: stream.Interface
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "flush": In(1),
                "i": In(stream.Signature(Words(config.word_bits, config.lanes))),
                "i_start": In(stream.Signature(Tag())),
                "o": Out(stream.Signature(PlacedBeat(config.address_bits, config.link_bytes))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        size, link = config.word_bytes, config.link_bytes
        beat_words = link // size
        m.submodules.rows = rows = Queue(Words(config.word_bits, config.lanes), 2)
        m.submodules.shifter = shifter = WordShifter(config.word_bits, config.lanes, beat_words)
        m.submodules.starts = starts = RowBuffer(Tag(), _STARTS, pipe=False)
        wiring.connect(m, wiring.flipped(self.i), rows.i)
        wiring.connect(m, wiring.flipped(self.i_start), starts.i)
        wiring.connect(m, rows.o, shifter.i)

        # The stripe of the beat's first byte: the last that begins at or before it. A start is
        # taken with the beat before its own; where a second one is due, the beat waits for it.
        offset, following = Signal(config.address_bits + 1), Signal(config.address_bits + 1)
        tag, is_due, moves = Signal(Tag()), Signal(), Signal()
        begins = starts.o.payload.offset
        m.d.comb += [
            is_due.eq(starts.o.valid & (begins <= offset)),
            starts.o.ready.eq(is_due | (moves & (begins <= following))),
            moves.eq(self.o.valid & self.o.ready),
        ]
        with m.If(starts.o.valid & starts.o.ready):
            m.d.sync += tag.eq(starts.o.payload)

        # A partial beat is due when nothing else will come.
        is_partial = Signal()
        ends = self.flush & ~rows.o.valid & (shifter.level != 0) & (shifter.level < beat_words)
        m.d.comb += [
            is_partial.eq(ends),
            shifter.need.eq(Mux(is_partial, shifter.level, beat_words)),
            self.o.valid.eq(shifter.o.valid & ~is_due),
            shifter.o.ready.eq(self.o.ready & ~is_due),
            self.o.payload.data.eq(shifter.o.payload.words.as_value()),
            self.o.payload.strobe.eq(
                Cat(
                    kept.replicate(size)
                    for kept in thermometer(shifter.o.payload.count, beat_words)
                )
            ),
            self.o.payload.tag.eq(tag),
            self.o.payload.last.eq(is_partial),
            self.idle.eq(~rows.o.valid & ~starts.o.valid & (shifter.level == 0)),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.o.payload.address.eq(self.address),
                offset.eq(0),
                following.eq(link),
            ]
        with m.Elif(moves):
            m.d.sync += [
                self.o.payload.address.eq(self.o.payload.address + link),
                offset.eq(following),
                following.eq(following + link),
            ]
        return m
