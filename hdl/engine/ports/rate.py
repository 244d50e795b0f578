"""Throttling of a channel."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_PERIOD_BITS = 10  # the rate is in bytes per 1,024 cycles


class RateLimiter(wiring.Component):
    """Limit bursts to a mean rate of bytes: each burst delays the next by the time of its bytes, at
    least by a cycle.

    A new rate counts from the next burst on.

    Parameters
    ----------
    most : int
        Most bytes that are issued in a cycle.

    Members
    -------
    rate : In, bytes per 1,024 cycles, 0 is unlimited
    issued : In, bytes issued in this cycle, 0 while ``hold``
    hold : Out, issue nothing in this cycle; a register
    """

    rate: Signal
    issued: Signal
    hold: Signal

    def __init__(self, most: int):
        self.most = most
        super().__init__({"rate": In(32), "issued": In(range(most + 1)), "hold": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # The debt is in bytes / 1,024. Its lower part pays a cycle ahead of its upper part, which
        # then owes the borrow. The upper part has a sign, for a rate that rises.
        low = Signal(_PERIOD_BITS, reset_less=True)
        high = Signal(len(self.issued) + 1, reset_less=True)
        borrow = Signal(reset_less=True)
        is_limited = Signal()
        is_fast = Signal()
        is_more = Signal()
        m.d.comb += is_more.eq(~is_fast & ~high[-1] & self._is_more(m, low, high, borrow))
        m.d.sync += [
            is_limited.eq(self.rate != 0),
            is_fast.eq((self.rate >> (_PERIOD_BITS + len(self.issued) - 1)) != 0),
            self.hold.eq(is_limited & Mux(self.hold, is_more, self.issued != 0)),
        ]
        with m.If(self.hold):
            m.d.sync += [
                Cat(low, borrow).eq(low - self.rate[:_PERIOD_BITS]),
                high.eq(high - self.rate[_PERIOD_BITS:] - borrow),
            ]
        with m.Else():  # all is paid: without a burst, nothing is owed
            m.d.sync += [low.eq(0), borrow.eq(0), high.eq(self.issued)]
        return m

    def _is_more(self, m, low, high, borrow):
        """More than the rate is left after this cycle: the debt is more than twice the rate."""
        twice = Signal(_PERIOD_BITS + len(high))
        rest, is_less = Signal.like(high), Signal()  # of the upper parts
        is_above = low > twice[:_PERIOD_BITS]
        m.d.comb += [
            twice.eq(self.rate << 1),
            Cat(rest, is_less).eq(high - twice[_PERIOD_BITS:]),
        ]
        # The upper part must be ahead by one for a borrow, and by one where the lower is not above.
        by_one, by_two = rest.any(), rest[1:].any()
        return ~is_less & Mux(borrow, Mux(is_above, by_one, by_two), is_above | by_one)
