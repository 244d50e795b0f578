"""Timeouts of a port."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.job import Timeout
from cdma.hdl.lib.timer import Timer


class Watchdog(wiring.Component):
    """Count the cycles in which a port owes a handshake and gives none.

    ``waits`` and ``moves`` go into registers, and ``expired`` comes two cycles after the last cycle
    that counts, from registers through gates. After reset, ``limit.on`` is 0 for a cycle at least.

    Members
    -------
    limit : In, :class:`~cdma.hdl.engine.job.Timeout`
    waits : In, the port owes a handshake in this cycle; other cycles do not count
    moves : In, there was a handshake: the count begins anew
    expired : Out, pulse: the limit is reached
    """

    limit: In(Timeout())
    waits: In(1)
    moves: In(1)
    expired: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.timer = timer = Timer(len(self.limit.cycles))
        has_waited = Signal()
        has_moved = Signal()
        m.d.sync += [has_waited.eq(self.waits), has_moved.eq(self.moves)]
        m.d.comb += [
            timer.number.eq(self.limit.cycles),
            timer.step.eq(has_waited),
            timer.load.eq(has_moved | timer.done | ~self.limit.on),
            self.expired.eq(timer.done & self.limit.on),
        ]
        return m
