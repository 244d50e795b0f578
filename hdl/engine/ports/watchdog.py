"""Timeouts of a port."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Watchdog(wiring.Component):
    """Count the cycles in which a port owes a handshake and gives none.

    Members
    -------
    limit : In, cycles until the timeout, 0 is never
    waits : In, the port owes a handshake in this cycle; other cycles do not count
    moves : In, there was a handshake: the count begins anew
    expired : Out, pulse: the limit is reached
    """

    limit: In(32)
    waits: In(1)
    moves: In(1)
    expired: Out(1)

    def elaborate(self, platform):
        m = Module()
        count = Signal(32)
        m.d.comb += self.expired.eq(
            self.waits & ~self.moves & (self.limit != 0) & (count >= self.limit - 1)
        )
        with m.If(self.moves | self.expired):
            m.d.sync += count.eq(0)
        with m.Elif(self.waits):
            m.d.sync += count.eq(count + 1)
        return m
