"""Latency of a channel's reads."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_BITS = 16


class LatencySampler(wiring.Component):
    """Measure the cycles from an address to its first data, for one burst at a time.

    Parameters
    ----------
    most : int
        Most bursts outstanding.

    Members
    -------
    asked : In, an address was taken
    outstanding : In, bursts asked for before that and not complete
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
        ahead = Signal.like(self.outstanding)
        m.d.comb += self.valid.eq(busy & self.given & (ahead == 0))
        with m.If(~busy):
            m.d.sync += [
                busy.eq(self.asked),
                ahead.eq(self.outstanding - (self.given & self.last)),
                self.cycles.eq(1),
            ]
        with m.Else():
            m.d.sync += [
                busy.eq(~self.valid),
                ahead.eq(ahead - (self.given & self.last & (ahead != 0))),
                self.cycles.eq(Mux(self.cycles.all(), self.cycles, self.cycles + 1)),
            ]
        return m
