"""A FENCE waits for what was started before, and for nothing else."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.completion import SLOTS
from cdma.hdl.engine.front.ring.fence import Fence
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS
from cdma.hdl.engine.front.ring.finish import STARTED
from cdma.hdl.engine.front.ring.records import FLIGHT_BITS
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults

#: Descriptors in flight: started, with their completions on their way, and one between both.
_FLIGHT = STARTED + SLOTS + 1


class WaitsForEarlier(Elaboratable):
    """A FENCE is not started before all earlier descriptors of its ring have completed, and those
    of the other ring that were in flight when it was met. It is started then: later ones do not
    hold it back.

    Each ring has up to as many descriptors in flight as there ever are. Those of the other ring are
    counted down from when the FENCE was met.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        ring, is_near, starts = Signal(), anything(m, 1, "is_near"), anything(m, 1, "starts")
        meets = anything(m, 1, "meets") & is_near
        with m.If(~is_near):
            m.d.sync += ring.eq(anything(m, 1, "turns"))
        m.d.comb += [
            dut.ring.eq(ring),
            dut.is_near.eq(is_near),
            dut.meets.eq(meets),
            dut.starts.eq(starts),
            dut.run.eq(anything(m, RINGS, "run")),
            dut.completes.eq(anything(m, RINGS, "completes")),
        ]
        levels = [Signal(range(_FLIGHT + 1), name=f"level{k}") for k in range(RINGS)]
        for number, level in enumerate(levels):
            begins, completes = starts & (ring == number), dut.completes[number]
            started, head = dut.started[number], dut.head[number]
            counts = [Signal(COUNT_BITS, name=f"{name}{number}") for name in ("started", "head")]
            m.d.comb += [started.eq(counts[0]), head.eq(counts[1])]
            m.d.sync += [
                counts[0].eq(counts[0] + begins),
                counts[1].eq(counts[1] + completes),
                level.eq(level + begins - completes),
            ]
            m.d.comb += [
                Assume(~completes | (level != 0)),
                Assume(~begins | (level != _FLIGHT)),
                Assert(level <= _FLIGHT),
                Assert((counts[0] - counts[1])[:COUNT_BITS] == level),
            ]
        ready = [
            self._follow(m, number, meets & (ring == number), starts & (ring == number), levels)
            for number in range(RINGS)
        ]
        was_ready = Signal()
        m.d.sync += was_ready.eq(is_near & Mux(ring, ready[1], ready[0]))
        m.d.comb += Assert(dut.is_open == was_ready)
        return m

    def _follow(self, m, number, meets, starts, levels):
        """Follow a FENCE of one ring; gives whether nothing is left that it waits for."""
        dut, other = self.dut, 1 - number
        waits, left = Signal(name=f"waits{number}"), Signal(FLIGHT_BITS, name=f"follows{number}")
        completes, run = dut.completes[other], dut.run[number]
        in_flight = levels[other] - completes
        m.d.comb += [
            # Nothing else of the ring is started while it waits.
            Assume(~(starts & waits) | dut.is_open),
        ]
        with m.If(~run | starts):
            m.d.sync += waits.eq(0)
        with m.Elif(meets & ~waits):
            m.d.sync += [waits.eq(1), left.eq(in_flight)]
        with m.Elif(completes & (left != 0)):
            m.d.sync += left.eq(left - 1)
        counted = probe(m, f"dut.left{number}", FLIGHT_BITS)
        opens = dut.is_open & (dut.ring == number) & waits
        m.d.comb += [
            Assert(~opens | (left == 0)),
            Assert(~opens | (levels[number] == 0)),
            # Invariants.
            Assert(probe(m, f"dut.is_taken{number}", 1) == waits),
            Assert(~waits | ((left == counted) & (counted <= levels[other]))),
            Assert(~opens | (counted == 0)),
            Cover(opens & (levels[other] == 3)),
            Cover(waits & (left == 2) & (levels[number] == 1)),
        ]
        return waits & (left == 0) & (levels[number] == 0)


PROOFS = (
    Proof(
        name="fence",
        promise="A FENCE waits for all earlier of its ring, and those in flight of the other ring",
        components=(Fence,),
        design=lambda _: WaitsForEarlier(Fence()),
        sizes={f"{_FLIGHT} in flight": _FLIGHT},
        broken=faults(
            _FLIGHT,
            10,
            stuck_at(1, "dut.is_open"),
            late("dut.is_taken1"),
            stuck_at(0, "dut.left0", 0),
            late("dut.is_open"),
        ),
    ),
)
