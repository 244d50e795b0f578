"""Dense packing of rows into beats of the link."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Tag
from cdma.hdl.engine.common.words import Words
from cdma.hdl.engine.common.writer import PlacedBeat
from cdma.hdl.lib.adder import advance_in_two
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.shifter import shift_up
from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.beat import thermometer

_STARTS = 16  # more stripes never begin in the words that wait here
#: Low bits of offsets that are compared: in the words that wait here, less than two rows and two
#: beats, no stripe begins farther away.
_NEAR_BITS = 12


class Packer(wiring.Component):
    """Pack rows into beats of the link, without a gap.

    Throughput one beat a cycle while rows are whole; latency one cycle. ``i.ready`` follows
    ``o.ready``. Bytes that ``o`` does not enable have any value.

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
        after its first row, and less than 2 KiB ahead
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
        # The row that is packed, whose beats leave one after the other.
        m.submodules.row = row = Queue(Words(config.word_bits, config.lanes), 1, pipe=True)
        m.submodules.starts = starts = RowBuffer(Tag(), _STARTS, pipe=False)
        wiring.connect(m, wiring.flipped(self.i), row.i)
        wiring.connect(m, wiring.flipped(self.i_start), starts.i)

        # The stripe of the beat's first byte: the last that begins at or before it. A start is
        # taken with the beat before its own or with its own; where a second one may be due, the
        # beat waits for it.
        waiting = Signal(range(_STARTS + 1))
        offset = Signal(_NEAR_BITS)
        tag, is_due, is_next, moves = Signal(Tag()), Signal(), Signal(), Signal()
        ahead = Signal(signed(len(offset)))  # bytes from the beat to where the stripe begins
        address = self.o.payload.address
        carry = advance_in_two(
            m, address[link.bit_length() - 1 :], moves, config.address_bits // 2, "address"
        )
        m.d.comb += [
            ahead.eq(starts.o.payload.offset - offset),
            is_due.eq(starts.o.valid & (ahead <= 0)),
            is_next.eq(ahead <= link),
            starts.o.ready.eq(is_due | (moves & is_next)),
            moves.eq(self.o.valid & self.o.ready),
        ]
        takes = starts.o.valid & starts.o.ready
        m.d.sync += waiting.eq(waiting + (starts.i.valid & starts.i.ready) - takes)
        with m.If(takes):
            m.d.sync += tag.eq(starts.o.payload)

        has_beat, is_partial, level = self._pack(m, row.o, moves)
        keep = Cat(kept.replicate(size) for kept in thermometer(level, link // size))
        m.d.comb += [
            self.o.valid.eq((has_beat | is_partial) & ~(is_due & (waiting > 1)) & ~carry),
            self.o.payload.strobe.eq(keep | (~is_partial).replicate(link)),
            self.o.payload.tag.eq(Mux(is_due, starts.o.payload.as_value(), tag.as_value())),
            self.o.payload.last.eq(is_partial),
            self.idle.eq(~row.o.valid & ~starts.o.valid & (level == 0)),
        ]
        with m.If(self.start):
            m.d.sync += [address.eq(self.address), carry.eq(0), offset.eq(0)]
        with m.Elif(moves):
            m.d.sync += offset.eq(offset + link)
        return m

    def _pack(self, m, row, moves):
        """Join the row with the words that are left of those before, and give it in beats.

        Gives whether there is a whole beat, whether a partial one is due because nothing else will
        come, and the words that are left.
        """
        config = self.config
        lanes, words = config.lanes, config.link_bytes // config.word_bytes
        low = words.bit_length() - 1
        most = (words - 1 + lanes) // words  # beats of a row
        rest = [Signal(config.word_bits, name=f"rest{k}") for k in range(words - 1)]
        level, number = Signal(range(max(words, 2))), Signal(range(max(most, 2)))
        total = Signal(range(words + lanes))  # words, from the first of the first beat on
        beats, has_beat, is_partial = Signal(range(most + 1)), Signal(), Signal()
        m.d.comb += [
            total.eq(level + row.payload.count),
            beats.eq(total >> low),
            has_beat.eq(row.valid & (beats != 0)),
            is_partial.eq(self.flush & ~row.valid & (level != 0)),
            row.ready.eq((beats == 0) | (moves & (number + 1 == beats))),
        ]
        given = [row.payload.words[k] for k in range(lanes)]
        shifted = shift_up(m, given, level, words * (most + 1), "shifted")
        joined = [word | old for word, old in zip(shifted, rest, strict=False)]
        joined += shifted[len(rest) :]
        groups = [Cat(joined[words * k : words * (k + 1)]) for k in range(most + 1)]
        m.d.comb += self.o.payload.data.eq(select(m, number, groups[:most], "beat"))
        left = select(m, beats, groups, "left")
        with m.If(row.valid & row.ready):
            m.d.sync += [Cat(rest).eq(left), level.eq(total[:low] if low else 0), number.eq(0)]
        with m.Elif(moves):
            m.d.sync += number.eq(number + 1)
        with m.If(is_partial & moves):
            m.d.sync += [Cat(rest).eq(0), level.eq(0), number.eq(0)]
        return has_beat, is_partial, level
