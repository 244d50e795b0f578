"""Counting down in steps of one size."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import PART_BITS


class Countdown(wiring.Component):
    """Count down in steps of a constant, and detect the last step.

    As in :class:`~cdma.hdl.lib.counter.Counter`, the upper bits are counted in parts, each with a
    register that is 1 when the part is zero. They load while ``is_last``, so that a late ``load``
    only drives the low bits. All outputs are registered.

    Parameters
    ----------
    width : int
        Bits of the number.
    size : int
        Number that a step subtracts.

    Members
    -------
    load : In, begin with ``load_words``; only when ``is_last``, which holds after reset, too
    load_words : In, the number
    step : In, subtract ``size``; ignored with ``load``
    words : Out, the low bits of the remainder, all of it when ``is_last``
    is_last : Out, no more than ``size`` is left
    is_zero : Out, the number that was loaded is zero
    """

    load: Signal
    load_words: Signal
    step: Signal
    words: Signal
    is_last: Signal
    is_zero: Signal

    def __init__(self, width: int, size: int):
        self.width = width
        self.size = size
        self.low_bits = (3 * size - 1).bit_length() if size > 0 else 0
        if not 0 < self.low_bits < width:
            raise ValueError(
                f"Size of a step must be positive and less than a quarter of the number's range of "
                f"{width} bits, not {size!r}"
            )
        super().__init__(
            {
                "load": In(1),
                "load_words": In(width),
                "step": In(1),
                "words": Out(self.low_bits),
                "is_last": Out(1, init=1),
                "is_zero": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, low = self.size, self.low_bits
        less = Signal(low + 1)
        m.d.comb += less.eq(self.words - size)
        # The upper bits are a cycle late: more than two steps are left, and the next has no borrow.
        borrow = Signal()
        m.d.sync += borrow.eq(self.step & less[-1] & ~self.is_last)
        are_zero = []
        for start in range(low, self.width, PART_BITS):
            bits = min(PART_BITS, self.width - start)
            part = Signal(bits, name=f"part{start}")
            is_zero = Signal(name=f"is_zero{start}")
            loaded = self.load_words[start : start + bits]
            with m.If(self.is_last):  # they are not used until the next load
                m.d.sync += [part.eq(loaded), is_zero.eq(loaded == 0)]
            with m.Elif(borrow):
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
                self.is_last.eq(self.is_last | (is_low & (self.words <= 2 * size))),
            ]
        return m
