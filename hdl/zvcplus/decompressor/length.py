"""The length of a payload."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
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

    Members
    -------
    mask : In, marks the words
    width : In, bits of each of them
    load_count : In, load the registers of the first stage
    load_length : In, load the registers of the second stage
    length : Out, bits of all of them
    """

    mask: Signal
    width: Signal
    load_count: Signal
    load_length: Signal
    length: Signal

    def __init__(self, words: int, word_bits: int):
        self.words = words
        self.word_bits = word_bits
        super().__init__(
            {
                "mask": In(words),
                "width": In(range(word_bits + 1)),
                "load_count": In(1),
                "load_length": In(1),
                "length": Out(range(words * word_bits + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(self.words + 1), reset_less=True)
        width = Signal.like(self.width, name="held_width", reset_less=True)
        ones = popcount(m, self.mask)
        with m.If(self.load_count):
            m.d.sync += [count.eq(ones), width.eq(self.width)]
        with m.If(self.load_length):
            m.d.sync += self.length.eq(count * width)
        return m
