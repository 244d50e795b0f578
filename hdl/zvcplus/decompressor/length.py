"""The length of a payload."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import popcount


class PayloadLength(wiring.Component):
    """Bits of the words that a mask marks.

    Throughput one mask a cycle; latency two cycles, each when its ``load`` is set; ``length`` comes
    from registers.

    Parameters
    ----------
    words : int
        Bits of the mask.
    word_bits : int
        Bits of a word, at most.
    groups : int
        Equal parts of the mask, each with a width of its own.
    has_repeats : bool
        Some words may be repeated; with one group.

    Members
    -------
    mask : In, marks the words
    widths : In, per group, bits of each of its words
    has_repeats : In, with the parameter: each word has a bit that says whether it is repeated
    repeats : In, with the parameter: words that are repeated, and have no other bit
    load_count : In, load the registers of the first stage
    load_length : In, load the registers of the second stage
    repeat_bits : Out, with the parameter: bits that say what is repeated, from the first stage
    count, repeated : Out, with the parameter, from the first stage: words of the mask, and those
        that are repeated, at most as many
    is_many : Out, with the parameter, from the first stage: more than all are to be repeated
    length : Out, bits of all of them
    """

    mask: Signal
    widths: data.View
    load_count: Signal
    load_length: Signal
    length: Signal

    def __init__(self, words: int, word_bits: int, groups: int = 1, *, has_repeats: bool = False):
        if words % groups:
            raise ValueError(f"Number of groups must divide the {words} words, not {groups!r}")
        self.words = words
        self.word_bits = word_bits
        self.groups = groups
        self._repeats = has_repeats
        count = range(words + 1)
        repeats = {
            "has_repeats": In(1),
            "repeats": In(count),
            "repeat_bits": Out(count),
            "count": Out(count),
            "repeated": Out(count),
            "is_many": Out(1),
        }
        super().__init__(
            {
                **(repeats if has_repeats else {}),
                "mask": In(words),
                "widths": In(data.ArrayLayout(range(word_bits + 1), groups)),
                "load_count": In(1),
                "load_length": In(1),
                "length": Out(range(words * (word_bits + has_repeats) + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = self.words // self.groups
        products = []
        for group, width in enumerate(self.widths):
            count = Signal(range(size + 1), name=f"count{group}", reset_less=True)
            held = Signal(len(width), name=f"held_width{group}", reset_less=True)
            ones = popcount(m, self.mask.word_select(group, size))
            with m.If(self.load_count):
                m.d.sync += [count.eq(ones), held.eq(width)]
            if self._repeats:
                products += self._repeat(m, ones)
                count = self.count - self.repeated
            products.append(count * held)
        with m.If(self.load_length):
            m.d.sync += self.length.eq(sum(products[1:], products[0]))
        return m

    def _repeat(self, m, ones):
        """Words of the mask and repeated words; gives the bits that say so."""
        wanted = Mux(self.has_repeats, self.repeats, 0)
        is_many = Signal()
        m.d.comb += is_many.eq(wanted > ones)
        with m.If(self.load_count):
            m.d.sync += [
                self.count.eq(ones),
                self.repeated.eq(Mux(is_many, ones, wanted)),
                self.repeat_bits.eq(Mux(self.has_repeats, ones, 0)),
                self.is_many.eq(is_many),
            ]
        return [self.repeat_bits]
