"""The length of a payload."""

from amaranth.hdl import Module, Signal
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

    Members
    -------
    mask : In, marks the words
    widths : In, per group, bits of each of its words
    load_count : In, load the registers of the first stage
    load_length : In, load the registers of the second stage
    length : Out, bits of all of them
    """

    mask: Signal
    widths: data.View
    load_count: Signal
    load_length: Signal
    length: Signal

    def __init__(self, words: int, word_bits: int, groups: int = 1):
        if words % groups:
            raise ValueError(f"Number of groups must divide the {words} words, not {groups!r}")
        self.words = words
        self.word_bits = word_bits
        self.groups = groups
        super().__init__(
            {
                "mask": In(words),
                "widths": In(data.ArrayLayout(range(word_bits + 1), groups)),
                "load_count": In(1),
                "load_length": In(1),
                "length": Out(range(words * word_bits + 1)),
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
            products.append(count * held)
        with m.If(self.load_length):
            m.d.sync += self.length.eq(sum(products[1:], products[0]))
        return m
