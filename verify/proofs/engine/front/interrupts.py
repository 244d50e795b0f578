"""Interrupts: no event is lost, and coalescing ends."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.interrupts import Coalescer, Interrupts
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Joins(Elaboratable):
    """A completion is followed by an interrupt after at most ``timer`` cycles, or at ``count``.

    Count and timer stay while a completion waits.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        for name in ("completed", "urgent", "rearm", "clear"):
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name))
        waits, waited, number = Signal(), Signal(24), Signal(8)
        for name in ("count", "timer"):
            port = getattr(dut, name)
            kept = Signal(len(port), name=f"{name}_kept")
            m.d.comb += port.eq(Mux(waits, kept, anything(m, len(port), name)))
            m.d.sync += kept.eq(port)
        is_new = dut.completed | dut.rearm
        total = number + dut.completed
        with m.If(dut.fire | dut.clear):
            m.d.sync += [waits.eq(0), waited.eq(0), number.eq(0)]
        with m.Else():
            with m.If(is_new):
                m.d.sync += [waits.eq(1), number.eq(total)]
            with m.If(waits):
                m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assert(probe(m, "dut.elapsed", 24) == waited),
            Assert(probe(m, "dut.number", 8) == number),
            Assert(probe(m, "dut.waits", 1) == waits),
            Assert(waits | ((waited == 0) & (number == 0))),
            Assert(~waits | (waited <= dut.timer)),
            Assert(~waits | (dut.timer != 0)),
            Assert(~waits | (number == 0) | (number < dut.count)),
            Assert(~dut.urgent | dut.fire),
            Assert(~dut.fire | dut.urgent | is_new | waits),
            Cover(dut.fire & waits & (waited == 3)),
            Cover(dut.fire & (total == 2) & ~dut.urgent & (waited < dut.timer)),
        ]
        with m.If(dut.completed & ((dut.timer == 0) | ((total >= dut.count) & (total != 0)))):
            m.d.comb += Assert(dut.fire)
        with m.If(waits & (waited >= dut.timer)):
            m.d.comb += Assert(dut.fire)
        return m


class LosesNoEvent(Elaboratable):
    """A bit is set by its event and cleared only by software; an event in that cycle wins."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        free = ("completed", "urgent", "rearm", "count", "timer", "alarm", "quarantined", "fatal")
        for name in (*free, "clear_bits", "enable", "clear"):
            port = getattr(dut, name)
            m.d.comb += port.eq(anything(m, len(port), name))
        was, cleared, all_cleared = Signal(6), Signal(6), Signal()
        alarm, quarantined, fatal = Signal(2), Signal(), Signal()
        urgent, enabled, has_run = Signal(2), Signal(6), Signal()
        m.d.sync += [
            was.eq(dut.status),
            cleared.eq(dut.clear_bits),
            all_cleared.eq(dut.clear),
            alarm.eq(dut.alarm),
            quarantined.eq(dut.quarantined),
            fatal.eq(dut.fatal),
            urgent.eq(dut.urgent),
            enabled.eq(dut.enable),
            has_run.eq(1),
        ]
        with m.If(has_run & all_cleared):
            m.d.comb += Assert(dut.status == 0)
        with m.Elif(has_run):
            kept = was & ~cleared
            m.d.comb += [
                Assert((dut.status & kept) == kept),
                Assert(dut.status[2:4] == (kept[2:4] | alarm)),
                Assert(dut.status[4] == (kept[4] | quarantined)),
                Assert(dut.status[5] == (kept[5] | fatal)),
                Assert((dut.status[:2] & urgent) == urgent),
                Cover(cleared[4] & quarantined & was[4]),
            ]
        with m.If(has_run):
            m.d.comb += Assert(dut.irq == (was & enabled).any())
        return m


PROOFS = (
    Proof(
        name="coalescer",
        promise="A completion is followed by an interrupt, at the count or after the timer",
        components=(Coalescer,),
        design=lambda _: Joins(Coalescer()),
        sizes={"any": None},
        slow=("any",),
        broken=faults(None, 8, late("dut.elapsed"), stuck_at(0, "dut.total", 0)),
    ),
    Proof(
        name="interrupts",
        promise="No event is lost, also one in the cycle in which software clears its bit",
        components=(Interrupts,),
        design=lambda _: LosesNoEvent(Interrupts()),
        sizes={"any": None},
        broken=faults(None, 4, stuck_at(0, "dut.status", 4), late("dut.irq")),
    ),
)
