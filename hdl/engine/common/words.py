"""Words regrouped: rows of one width in, groups of another width out."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.shifter import shift_down, shift_up


class Words(data.StructLayout):
    """``words``, of which ``count`` from the first on count."""

    def __init__(self, word_bits: int, size: int):
        super().__init__({"words": data.ArrayLayout(word_bits, size), "count": size.bit_length()})


class WordShifter(wiring.Component):
    """First-in first-out buffer of words that takes and gives several at a time.

    Throughput one transfer a cycle on either side. ``i.ready`` and the words given come from
    registers, the latter through gates.

    Parameters
    ----------
    word_bits : int
    in_words, out_words : int
        Most words of a transfer in and out.

    Members
    -------
    clear : In, drop all
    i : In stream of :class:`Words`; those from ``count`` on must be zero, ``count`` may be 0
    need : In, words that the next transfer out takes, 1 to ``out_words``
    o : Out stream of :class:`Words`, valid when ``need`` words are there; ``count`` is ``need``
    level : Out, words in the buffer
    """

    clear: Signal
    i: stream.Interface
    need: Signal
    o: stream.Interface
    level: Signal

    def __init__(self, word_bits: int, in_words: int, out_words: int):
        self.word_bits = word_bits
        self.in_words = in_words
        self.out_words = out_words
        # With less, words that come would wait while others leave: also before a reader that takes
        # a transfer in as many cycles as its words need to come.
        self.capacity = max(2 * in_words + out_words, in_words + 2 * out_words - 1)
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(Words(word_bits, in_words))),
                "need": In(range(out_words + 1)),
                "o": Out(stream.Signature(Words(word_bits, out_words))),
                "level": Out(range(self.capacity + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words = [Signal(self.word_bits, name=f"word{k}") for k in range(self.capacity)]
        taken = Signal.like(self.need)
        rest = Signal.like(self.level)
        enters = Signal()
        m.d.comb += [
            self.o.valid.eq(self.level >= self.need),
            taken.eq(Mux(self.o.valid & self.o.ready, self.need, 0)),
            rest.eq(self.level - taken),
            self.i.ready.eq(self.level <= self.capacity - self.in_words),
            enters.eq(self.i.valid & self.i.ready),
            self.o.payload.count.eq(self.need),
        ]
        for k in range(self.out_words):
            m.d.comb += self.o.payload.words[k].eq(Mux(self.need > k, words[k], 0))
        kept = shift_down(m, words, taken, "kept")
        given = [self.i.payload.words[k] for k in range(self.in_words)]
        added = shift_up(m, given, rest, self.capacity, "added")
        with m.If(self.clear):
            m.d.sync += [self.level.eq(0), Cat(words).eq(Const(0, self.word_bits * len(words)))]
        with m.Else():
            m.d.sync += self.level.eq(rest + Mux(enters, self.i.payload.count, 0))
            for word, old, new in zip(words, kept, added, strict=True):
                m.d.sync += word.eq(old | Mux(enters, new, 0))
        return m
