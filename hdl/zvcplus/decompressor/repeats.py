"""The bits of repeats at the start of a payload."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import popcount, tree
from cdma.hdl.lib.signals import registered, select, wire
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import Header, reach, window_bits

PART = 8  # bits that are counted in the first cycle


class RepeatReader(wiring.Component):
    """Cut out the bits of repeats behind a control, and read the number that a control has. Those
    of floats are counted; those of int8 by
    :class:`~cdma.hdl.zvcplus.decompressor.payload.meter.PayloadMeter`.

    The bits come a cycle after ``load``; ``is_wrong`` three cycles after, and stays until two
    cycles after the next. ``used`` and ``sent`` come two cycles after ``header``.

    Parameters
    ----------
    config : Config
        Element type, with repeats.

    Members
    -------
    header : In, :class:`~cdma.hdl.zvcplus.decompressor.layouts.Header`
    used, sent : Out, whether the control has a number of repeated words, of int8 the payload's
        length, and that number
    bits : In, the stream from the control on
    shift : In, bits of the control, behind which the bits of repeats stand
    load : In, load the registers
    uses : In, with ``load``: the payload has bits of repeats
    count, repeated : In, of floats, from ``load`` to two cycles after: number of bits, and how many
        are to be 1
    o : Out stream of a bit per word that is not zero; there must be room when ``load`` is set
    has_room : Out, all bits have left, or leave in this cycle
    is_wrong : Out, of floats: another number of them is 1
    """

    header: data.View
    used: Signal
    sent: Signal
    bits: Signal
    shift: Signal
    load: Signal
    uses: Signal
    count: Signal
    repeated: Signal
    o: stream.Interface
    has_room: Signal
    is_wrong: Signal

    def __init__(self, config: Config):
        self.config = config
        words = range(config.word.block_words + 1)
        sent, counted = config.word.count_bits, {}
        if config.word.is_float:
            sent, counted = words, {"count": In(words), "repeated": In(words), "is_wrong": Out(1)}
        super().__init__(
            {
                "header": In(Header(config)),
                "used": Out(1),
                "sent": Out(sent),
                "bits": In(reach(config)),
                "shift": In(range(window_bits(config) + 1)),
                "load": In(1),
                "uses": In(1),
                **counted,
                "o": Out(stream.Signature(config.word.block_words)),
                "has_room": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, header = self.config.word, self.header
        fields = [header.body[4 * k :][: word.count_bits] for k in range(word.flags + 1)]
        field = registered(m, select(m, header.nibbles, fields, "field"), "was_field")
        m.d.sync += [
            self.sent.eq(field + word.is_float),
            self.used.eq(registered(m, header.has_repeats, "had_repeats")),
        ]
        bits = Signal(word.block_words, reset_less=True)
        is_used = Signal()
        with m.If(self.load):
            m.d.sync += [
                bits.eq(self.bits >> self.shift),
                self.o.valid.eq(self.uses),
                is_used.eq(self.uses),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        m.d.comb += [self.o.payload.eq(bits), self.has_room.eq(~self.o.valid | self.o.ready)]
        if word.is_float:
            self._count(m, bits, is_used)
        return m

    def _count(self, m, bits, is_used):
        """Compare how many bits are 1 with the number."""
        word = self.config.word
        used = wire(m, bits & thermometer(self.count, word.block_words), "used_bits")
        parts = [
            registered(m, popcount(m, used[k:][:PART]), f"part{k}")
            for k in range(0, len(used), PART)
        ]
        was_loaded = registered(m, self.load, "was_loaded", is_reset=True)
        is_counted = registered(m, was_loaded, "is_counted", is_reset=True)
        with m.If(is_counted):
            m.d.sync += self.is_wrong.eq(is_used & (tree(m, parts) != self.repeated))
