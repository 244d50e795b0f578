"""Timeouts of a port."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.job import Timeout

_PART_BITS = 8


class Watchdog(wiring.Component):
    """Count the cycles in which a port owes a handshake and gives none.

    Counts down from the limit, in parts whose borrows reach the next part a cycle later. ``waits``
    and ``moves`` go into registers, and ``expired`` comes two cycles after the last cycle that
    counts, from registers through gates. After reset, ``limit.on`` is 0 for a cycle at least.

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
        has_waited = Signal()
        has_moved = Signal()
        loads = Signal()
        cycles = self.limit.cycles
        places = range(0, len(cycles), _PART_BITS)
        parts = [Signal(_PART_BITS, name=f"left{k}", reset_less=True) for k in range(len(places))]
        borrows = Signal(len(parts) - 1, reset_less=True)  # into each part but the first
        # All parts but the first are zero. One cycle late: then the first has not yet come to zero.
        is_low = Signal(reset_less=True)
        m.d.sync += [has_waited.eq(self.waits), has_moved.eq(self.moves)]
        m.d.comb += [
            self.expired.eq(is_low & ~parts[0].any() & self.limit.on),
            loads.eq(has_moved | self.expired | ~self.limit.on),
        ]
        with m.If(loads):
            m.d.sync += [Cat(parts).eq(cycles), borrows.eq(0), is_low.eq(0)]
        with m.Else():
            for k, (part, step) in enumerate(zip(parts, Cat(has_waited, borrows), strict=True)):
                m.d.sync += Cat(part, borrows[k : k + 1]).eq(part - step)
            m.d.sync += is_low.eq(~Cat(*parts[1:], borrows).any())
        return m
