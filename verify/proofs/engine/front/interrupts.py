"""Interrupts: no event is lost, and coalescing ends."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.interrupts import Coalescer, Interrupts
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.lib.timer import timer_counts
from cdma.verify.proofs.proof import Proof, faults


class Joins(Elaboratable):
    """A completion is followed by an interrupt after at most ``timer`` cycles, or at ``count``.

    Both change only when that is said, and then count anew.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        for name in ("completed", "urgent", "rearm", "clear"):
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name))
        has_run = Signal()
        m.d.sync += has_run.eq(1)
        m.d.comb += dut.changes.eq(anything(m, 1, "changes") | ~has_run)
        was = {}
        for name in ("count", "timer"):
            port = getattr(dut, name)
            was[name] = kept = Signal(len(port), name=f"{name}_kept")
            m.d.comb += port.eq(Mux(dut.changes, anything(m, len(port), name), kept))
            m.d.sync += kept.eq(port)
        waits, waited, number = Signal(), Signal(24), Signal(8)
        is_new = dut.completed | dut.rearm
        with m.If(dut.fire | dut.clear):
            m.d.sync += waits.eq(0)
        with m.Elif(is_new):
            m.d.sync += waits.eq(1)
        with m.If(dut.fire | dut.clear | dut.changes):
            m.d.sync += number.eq(0)
        with m.Elif(dut.completed):
            m.d.sync += number.eq(number + 1)
        with m.If(~waits | dut.changes | dut.fire | dut.clear):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assert(probe(m, "dut.waits", 1) == waits),
            Assert(~dut.urgent | dut.fire),
            Assert(~dut.fire | dut.urgent | is_new | waits),
            Cover(dut.fire & waits & (waited == 3)),
            Cover(dut.fire & (number == 1) & ~dut.urgent & (waited < dut.timer)),
        ]
        # In the cycle of a change, what counts is what was there before.
        timer, count = was["timer"], Mux(was["count"] == 0, 1, was["count"])
        with m.If(has_run):
            m.d.comb += [
                Assert(probe(m, "dut.left", 8) == (count - 1 - number)[:8]),
                Assert(number < count),
                Assert(probe(m, "dut.has_timer", 1) == (timer != 0)),
                Assert(waits | (waited == 0)),
                Assert(~waits | (waited <= timer)),
            ]
            with m.If(waits):
                timer_counts(m, "dut.elapsed", 24, timer, waited, timer != 0)
            with m.If(dut.completed & ((timer == 0) | (number + 1 >= count))):
                m.d.comb += Assert(dut.fire)
            with m.If(waits & (waited >= timer)):
                m.d.comb += Assert(dut.fire)
            with m.If(dut.fire & ~dut.urgent & (timer != 0) & ~(waits & (waited >= timer))):
                m.d.comb += Assert(dut.completed & (number + 1 >= count))
        return m


class LosesNoEvent(Elaboratable):
    """A bit is set by its event and cleared only by software; an event in that cycle wins."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        free = ("completed", "urgent", "rearm", "count", "timer", "changes")
        free += ("alarm", "quarantined", "fatal")
        for name in (*free, "clear_bits", "enable", "clear"):
            port = getattr(dut, name)
            m.d.comb += port.eq(anything(m, len(port), name))
        was, cleared, all_cleared = Signal(6), Signal(6), Signal()
        alarm, quarantined, fatal = Signal(2), Signal(), Signal()
        urgent, was_urgent, enabled, has_run = Signal(2), Signal(2), Signal(6), Signal()
        m.d.sync += [
            was.eq(dut.status),
            cleared.eq(dut.clear_bits),
            all_cleared.eq(dut.clear),
            alarm.eq(dut.alarm),
            quarantined.eq(dut.quarantined),
            fatal.eq(dut.fatal),
            urgent.eq(dut.urgent),  # goes into a register first
            was_urgent.eq(urgent),
            enabled.eq(dut.enable),
            has_run.eq(1),
        ]
        m.d.comb += Assert(probe(m, "dut.is_urgent", 2) == urgent)
        with m.If(has_run & all_cleared):
            m.d.comb += Assert(dut.status == 0)
        with m.Elif(has_run):
            kept = was & ~cleared
            m.d.comb += [
                Assert((dut.status & kept) == kept),
                Assert(dut.status[2:4] == (kept[2:4] | alarm)),
                Assert(dut.status[4] == (kept[4] | quarantined)),
                Assert(dut.status[5] == (kept[5] | fatal)),
                Assert((dut.status[:2] & was_urgent) == was_urgent),
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
        broken=faults(None, 8, late("dut.elapsed.done"), stuck_at(0, "dut.left", 0)),
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
