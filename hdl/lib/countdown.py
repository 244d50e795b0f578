"""Counting down the words of a packet, block by block."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS


class Remaining(wiring.Component):
    """Words of a packet that are still to come, and whether they are the last block's.

    As in :class:`~cdma.hdl.lib.counter.Counter`, the upper bits are counted in parts that remember
    whether they are zero. All outputs are registered.

    Parameters
    ----------
    block_words : int
        Words that a step takes away.

    Members
    -------
    load : In, begin with ``load_words``
    load_words : In, words of a packet
    step : In, take a block's words away; not looked at with ``load``
    words : Out, the low bits of what is left, all of it when ``is_last``
    is_last : Out, no more than a block is left
    is_zero : Out, the packet has no words
    """

    def __init__(self, block_words: int):
        self.block_words = block_words
        self.low_bits = (2 * block_words).bit_length()
        super().__init__(
            {
                "load": In(1),
                "load_words": In(COUNT_BITS),
                "step": In(1),
                "words": Out(self.low_bits),
                "is_last": Out(1),
                "is_zero": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, low = self.block_words, self.low_bits
        less = Signal(low + 1)
        m.d.comb += less.eq(self.words - size)
        borrow = less[-1]
        are_zero = []
        for start in range(low, COUNT_BITS, PART_BITS):
            bits = min(PART_BITS, COUNT_BITS - start)
            part = Signal(bits, name=f"part{start}")
            is_zero = Signal(name=f"is_zero{start}")
            loaded = self.load_words[start : start + bits]
            with m.If(self.load):
                m.d.sync += [part.eq(loaded), is_zero.eq(loaded == 0)]
            with m.Elif(self.step & borrow):
                m.d.sync += [part.eq(part - 1), is_zero.eq(part == 1)]
            borrow = borrow & is_zero
            are_zero.append(is_zero)
        is_low = Cat(are_zero).all()  # nothing is left in the upper parts
        with m.If(self.load):
            m.d.sync += [
                self.words.eq(self.load_words),
                # The upper bits apart, so that no comparison runs over all.
                self.is_last.eq(~self.load_words[low:].any() & (self.load_words[:low] <= size)),
                self.is_zero.eq(self.load_words == 0),
            ]
        with m.Elif(self.step):
            m.d.sync += [
                self.words.eq(less),
                self.is_last.eq(is_low & (self.words <= 2 * size)),
            ]
        return m
