"""Throttling of a channel."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_PERIOD_BITS = 10  # the rate is in bytes per 1,024 cycles


class RateLimiter(wiring.Component):
    """Limit bursts to a mean rate of bytes: each burst delays the next by the time of its bytes, at
    least by a cycle.

    Parameters
    ----------
    most : int
        Most bytes that are issued in a cycle.

    Members
    -------
    rate : In, bytes per 1,024 cycles, 0 is unlimited
    issued : In, bytes issued in this cycle
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
        debt = Signal((2 * self.most).bit_length() + _PERIOD_BITS)  # in bytes / 1,024
        rest = Signal.like(debt)
        owed = Signal.like(debt)
        m.d.comb += [
            rest.eq(Mux(debt > self.rate, debt - self.rate, 0)),
            owed.eq(rest + (self.issued << _PERIOD_BITS)),
        ]
        m.d.sync += [
            debt.eq(Mux(self.rate == 0, 0, owed)),
            # More than the rate is left after this cycle.
            self.hold.eq((self.rate != 0) & ((self.issued != 0) | (debt > (self.rate << 1)))),
        ]
        return m
