"""A number that is counted down without a long borrow."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_PART_BITS = 8


class Timer(wiring.Component):
    """Say when as many steps were made as a number says.

    The number is counted down in parts, whose borrows reach the next part a cycle later. ``done``
    comes in the cycle after the last step, from registers through gates.

    Parameters
    ----------
    bits : int
        Of the number, more than one part.

    Members
    -------
    load : In, begin anew; also in the cycle after reset, and after ``done`` at once
    number : In, steps, 1 or more, with ``load``
    step : In, count a step; ignored with ``load``
    done : Out, all steps were made. Valid without ``load`` in the cycle before
    """

    load: Signal
    number: Signal
    step: Signal
    done: Signal

    def __init__(self, bits: int):
        if bits <= _PART_BITS:
            raise ValueError(f"Bits of a timer must be more than {_PART_BITS}, not {bits!r}")
        self.bits = bits
        super().__init__({"load": In(1), "number": In(bits), "step": In(1), "done": Out(1)})

    def elaborate(self, platform):
        m = Module()
        parts = [
            Signal(
                min(_PART_BITS, self.bits - low), name=f"left{low // _PART_BITS}", reset_less=True
            )
            for low in range(0, self.bits, _PART_BITS)
        ]
        borrows = Signal(len(parts) - 1, reset_less=True)  # into each part but the first
        # All parts but the first are zero. One cycle late: then the first has not yet come to zero.
        is_low = Signal(reset_less=True)
        m.d.comb += self.done.eq(is_low & ~parts[0].any())
        with m.If(self.load):
            m.d.sync += [Cat(parts).eq(self.number), borrows.eq(0), is_low.eq(0)]
        with m.Else():
            for k, (part, step) in enumerate(zip(parts, Cat(self.step, borrows), strict=True)):
                m.d.sync += Cat(part, borrows[k : k + 1]).eq(part - step)
            m.d.sync += is_low.eq(~Cat(*parts[1:], borrows).any())
        return m
