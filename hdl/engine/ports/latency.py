"""Latency of a channel's reads."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_BITS = 16
_PART_BITS = 8


class LatencySampler(wiring.Component):
    """Measure the cycles from an address to its first data, for one burst at a time.

    Parameters
    ----------
    most : int
        Most bursts outstanding.

    Members
    -------
    asked : In, an address was taken
    outstanding : In, bursts asked for and not complete, with that one
    given, last : In, a beat of data was taken; it ends its burst
    valid, cycles : Out, a sample, ending at 65,535
    """

    asked: Signal
    outstanding: Signal
    given: Signal
    last: Signal
    valid: Signal
    cycles: Signal

    def __init__(self, most: int):
        self.most = most
        super().__init__(
            {
                "asked": In(1),
                "outstanding": In(range(most + 1)),
                "given": In(1),
                "last": In(1),
                "valid": Out(1),
                "cycles": Out(_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        busy = Signal()
        ends, is_next = Signal(), Signal()
        left = Signal.like(self.outstanding, reset_less=True)  # up to the burst that is measured
        m.d.comb += [
            ends.eq(self.given & self.last),
            is_next.eq(left == 1),
            self.valid.eq(busy & self.given & is_next),
        ]
        with m.If(~busy):
            m.d.sync += [busy.eq(self.asked), left.eq(self.outstanding - ends)]
        with m.Else():
            m.d.sync += [busy.eq(~self.valid), left.eq(left - ends)]
        self._count(m, busy)
        return m

    def _count(self, m, busy):
        """Cycles since the address. Registers say ahead that a part is all ones."""
        low = Signal(_PART_BITS, reset_less=True)
        high = Signal(_BITS - _PART_BITS, reset_less=True)
        is_full = Signal(reset_less=True)
        is_most = Signal(reset_less=True)
        m.d.comb += self.cycles.eq(Cat(low, high))
        with m.If(~busy):
            m.d.sync += [low.eq(1), high.eq(0), is_full.eq(0), is_most.eq(0)]
        with m.Elif(~is_most):
            fills = low == (1 << _PART_BITS) - 2
            m.d.sync += [
                low.eq(low + 1),
                high.eq(high + is_full),
                is_full.eq(fills),
                is_most.eq(fills & high.all()),
            ]
