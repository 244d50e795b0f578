"""The payload of each beat, counted."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.plain.records import (
    BlockCoding,
    FieldCoding,
    LineBeat,
    Payload,
)
from cdma.hdl.zvcplus.compressor.records import (
    SENT,
)
from cdma.hdl.zvcplus.config import Config


class FieldCounter(wiring.Component):
    """Give each beat the coding of its block, and count the bits of its words.

    Three steps, a register after each: the width of a block's words; of a beat, the words that are
    sent before each word; these times the width. The beats of a block wait for its coding.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles for a beat, and one more for the
    first coding. ``o`` and ``beat`` come from registers; ``i_beat.ready`` follows ``o.ready``
    through three gates.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i_coding : In stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockCoding`
    i_beat : In stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.LineBeat`
    beat : Out, :class:`CodedBeat` whose payload may come to ``o``
    loads : Out, what is at ``beat`` moves on
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.Payload`
    next_valid, next_end : Out, ``o.valid`` and ``o.payload.end`` in the next cycle, not registered
    """

    #: Cycles from a beat to its payload.
    LATENCY = 2

    i_coding: stream.Interface
    i_beat: stream.Interface
    beat: data.View
    loads: Signal
    o: stream.Interface
    next_valid: Signal
    next_end: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i_coding": In(stream.Signature(BlockCoding(config))),
                "i_beat": In(stream.Signature(LineBeat(config))),
                "beat": Out(CodedBeat(config)),
                "loads": Out(1),
                "o": Out(stream.Signature(Payload(config))),
                "next_valid": Out(1),
                "next_end": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.codings = codings = Queue(_SizedCoding(config), 1, pipe=True)
        coded = Signal(CodedBeat(config), reset_less=True)
        is_coded, loads, beat = Signal(), Signal(), Signal(CodedBeat(config))
        m.submodules.payloads = payloads = Queue(Payload(config), 1, pipe=True)
        wiring.connect(m, payloads.o, wiring.flipped(self.o))
        sized = codings.i.payload
        m.d.comb += [
            codings.i.valid.eq(self.i_coding.valid),
            self.i_coding.ready.eq(codings.i.ready),
            sized.block.eq(self.i_coding.payload),
            self._field(sized.field, self.i_coding.payload),
            sized.width.eq(self._width(self.i_coding.payload.coding)),
            sized.triple.eq(sized.width + (sized.width << 1)),
        ]
        # Beats move on whatever leaves: a register behind is empty; and there is a coding.
        is_loose, is_open = Signal(init=1), Signal()
        next_codings = self.i_coding.valid | (codings.o.valid & ~codings.o.ready)
        is_taken, next_coded = Signal(), Signal()
        line, block = self.i_beat.payload, codings.o.payload.block
        m.d.sync += [
            is_loose.eq(~(next_coded & self.next_valid)),
            is_open.eq(next_codings & ~(next_coded & self.next_valid)),
            is_coded.eq(next_coded),
        ]
        with m.If(loads):
            m.d.sync += coded.eq(beat)
        m.d.comb += [
            loads.eq(is_loose | self.o.ready),
            is_taken.eq(self.i_beat.valid & codings.o.valid),
            next_coded.eq(is_taken | (is_coded & ~loads)),
            self.i_beat.ready.eq(is_open | (codings.o.valid & self.o.ready)),
            codings.o.ready.eq(loads & self.i_beat.valid & line.end),
            beat.words.eq(line.words),
            beat.mask.eq(line.mask),
            beat.coding.eq(codings.o.payload.field),
            beat.coding.changes.eq(codings.o.payload.field.changes & line.mask),
            beat.width.eq(codings.o.payload.width),
            beat.triple.eq(codings.o.payload.triple),
            beat.count.eq(block.words),
            beat.end.eq(line.end),
            beat.final.eq(block.last),
        ]
        self._count(m, beat, line.mask | block.is_raw.replicate(config.lanes))
        beat, payload = coded, payloads.i.payload
        m.d.comb += [
            self.beat.eq(beat),
            self.loads.eq(payloads.i.ready),
            payloads.i.valid.eq(is_coded),
            payload.words.eq(beat.count),
            payload.end.eq(beat.end),
            payload.final.eq(beat.final),
            self.next_valid.eq(is_coded | ~payloads.i.ready),
            self.next_end.eq(Mux(payloads.i.ready, beat.end, payloads.o.payload.end)),
            *(
                behind.eq(times(rank, beat.width, beat.triple))
                for behind, rank in zip(payload.behind, beat.ranks, strict=True)
            ),
            payload.total.eq(times(beat.total, beat.width, beat.triple)),
        ]
        return m

    def _field(self, field, block):
        """How the words of a block become fields; for all words that are not zero."""
        exponent, coding = self.config.word.exponent, block.coding
        changes = ~(block.is_raw | (coding.k == SENT))
        return [
            field.changes.eq(changes.replicate(self.config.lanes)),
            field.base.eq(coding.base & changes.replicate(exponent)),
            field.sent.eq(Cat(~changes | (coding.k > bit) for bit in range(exponent))),
            field.is_wide.eq(coding.is_wide),
        ]

    def _width(self, coding):
        """Bits of a word that is sent."""
        word = self.config.word
        exponent = Mux(coding.k == SENT, word.exponent, coding.k)
        return word.mantissa + exponent + coding.is_wide

    def _count(self, m, beat, sent):
        """Words that are sent before each word."""
        m.submodules.prefix = prefix = PrefixSum(len(sent))  # of few enough lanes: combinational
        m.d.comb += [
            prefix.enable.eq(1),
            prefix.mask.eq(sent),
            beat.total.eq(prefix.total),
            beat.ranks.eq(prefix.ranks),
        ]


def times(number, width, triple):
    """``number * width``: two bits of the number choose a multiple, all multiples are added."""
    terms = []
    for first in range(0, len(number), 2):
        ways = [Const(0, 1), width, width << 1, triple]
        low = Mux(number[first], ways[1], ways[0])
        if first + 1 < len(number):
            low = Mux(number[first + 1], Mux(number[first], ways[3], ways[2]), low)
        terms.append(low << first)
    return sum(terms[1:], terms[0])


class _SizedCoding(data.StructLayout):
    """How a block is coded, and its fields; the bits of a word that is sent, and three times as
    many."""

    def __init__(self, config: Config):
        bits = config.word.bits
        super().__init__(
            {
                "block": BlockCoding(config),
                "field": FieldCoding(config),
                "width": range(bits + 1),
                "triple": range(3 * bits + 1),
            }
        )


class CodedBeat(data.StructLayout):
    """A beat and how its block is coded.

    Members
    -------
    words : array of its words; those that are not marked are anything
    mask : a bit per word that is not zero
    coding : :class:`~cdma.hdl.zvcplus.compressor.plain.records.FieldCoding`
    width, triple : bits of a word that is sent, and three times as many
    ranks : array of the numbers of words that are sent before each word
    total : words that are sent
    count : words of the block's last beat
    end : the block ends with the beat
    final : the block is its packet's last
    """

    def __init__(self, config: Config):
        word, lanes = config.word, config.lanes
        super().__init__(
            {
                "words": data.ArrayLayout(word.bits, lanes),
                "mask": lanes,
                "coding": FieldCoding(config),
                "width": range(word.bits + 1),
                "triple": range(3 * word.bits + 1),
                "ranks": data.ArrayLayout(range(lanes), lanes),
                "total": range(lanes + 1),
                "count": range(lanes + 1),
                "end": 1,
                "final": 1,
            }
        )
