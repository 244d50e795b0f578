"""FENCE: waits for what was started before."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS
from cdma.hdl.engine.front.ring.records import FLIGHT_BITS


class Fence(wiring.Component):
    """Says when a descriptor with FENCE may be started.

    When the descriptor is met, the other ring's descriptors in flight are counted. It may be
    started when these and all of its own ring have completed. That the other ring stops, halts or
    enters ERROR makes no difference: what was started still moves data until it has completed.

    Members
    -------
    ring : In, of the descriptor that is looked at
    meets : In, level: it has FENCE, and is looked at
    is_near : In, level: it may be started in the next cycle or in the one behind it
    starts : In, one cycle: it is started
    run : In, a bit for each ring; 0 forgets the FENCE
    started, head : In, arrays: descriptors started and completed
    completes : In, a bit for each ring: ``head`` increases after this cycle
    is_open : Out, a register: nothing is in flight that the FENCE waits for, with ``is_near``
    """

    def __init__(self):
        super().__init__(
            {
                "ring": In(1),
                "meets": In(1),
                "is_near": In(1),
                "starts": In(1),
                "run": In(RINGS),
                "started": In(COUNT_BITS).array(RINGS),
                "head": In(COUNT_BITS).array(RINGS),
                "completes": In(RINGS),
                "is_open": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        own = []
        for ring in range(RINGS):
            other = 1 - ring
            is_taken = Signal(name=f"is_taken{ring}")
            # Descriptors of the other ring that were in flight when the FENCE was met.
            left = Signal(FLIGHT_BITS, name=f"left{ring}", reset_less=True)
            is_here = self.ring == ring
            flight = self.started[other][:FLIGHT_BITS] - self.head[other][:FLIGHT_BITS]
            with m.If(~self.run[ring] | (self.starts & is_here)):
                m.d.sync += is_taken.eq(0)
            with m.Elif(self.meets & is_here):
                m.d.sync += is_taken.eq(1)
            with m.If(~is_taken):
                m.d.sync += left.eq(flight - self.completes[other])
            with m.Elif(left.any()):
                m.d.sync += left.eq(left - self.completes[other])
            is_drained = self.started[ring][:FLIGHT_BITS] == self.head[ring][:FLIGHT_BITS]
            own.append(is_taken & ~left.any() & is_drained)
        m.d.sync += self.is_open.eq(Mux(self.ring, own[1], own[0]) & self.is_near)
        return m
