"""A count of what is owed, without a long carry."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

PART_BITS = 8


class Tally(wiring.Component):
    """Count up and down by one, and say whether the count is zero.

    The count has two parts; the carry or borrow between them is in registers and is added a cycle
    later. Nobody reads the number, so nobody waits for it. ``any`` is exact in every cycle: a part
    that gave a carry or a borrow is not zero in the cycle after it, or the carry is pending.
    Latency one cycle. ``any`` comes from registers through gates.

    Parameters
    ----------
    bits : int
        Of the count, more than those of a part and at most twice as many. It does not overflow.

    Members
    -------
    up, down : In, count; both at once change nothing. ``down`` not when the count is zero
    any : Out, the count is not zero
    """

    up: Signal
    down: Signal
    any: Signal

    def __init__(self, bits: int):
        if not PART_BITS < bits <= 2 * PART_BITS:
            raise ValueError(
                f"Bits of a tally must be {PART_BITS + 1} to {2 * PART_BITS}, not {bits!r}"
            )
        self.bits = bits
        super().__init__({"up": In(1), "down": In(1), "any": Out(1)})

    def elaborate(self, platform):
        m = Module()
        low = Signal(PART_BITS)
        high = Signal(self.bits - PART_BITS)
        carry, borrow = Signal(name="carry"), Signal(name="borrow")
        up, down = Signal(), Signal()
        m.d.comb += [up.eq(self.up & ~self.down), down.eq(self.down & ~self.up)]
        m.d.sync += [
            low.eq(low + _step(up, down, PART_BITS)),
            carry.eq(up & low.all()),
            borrow.eq(down & ~low.any()),
            high.eq(high + _step(carry, borrow, len(high))),
        ]
        m.d.comb += self.any.eq(low.any() | high.any() | carry)
        return m


def _step(up, down, bits):
    """1, -1 or 0; never both."""
    return Cat(up | down, down.replicate(bits - 1))
