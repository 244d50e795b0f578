"""Interrupts: what waits, coalescing of completions, and the level of irq."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.timer import Timer


class Coalescer(wiring.Component):
    """Joins the completions of one ring into fewer interrupts.

    Fires at ``count`` completions, or ``timer`` cycles after the first of them; at once when
    ``timer`` is 0, or for a status other than OK. With a new ``count`` and ``timer``, both count
    anew for what waits.

    Members
    -------
    count, timer : In, as of the register IRQ_COALESCE
    changes : In, one cycle: they are new, and after reset
    completed : In, one cycle: a completion that asks for an interrupt
    urgent : In, one cycle: a completion with a status other than OK
    rearm : In, one cycle: software has read completions, and not all of them
    clear : In, forget what was counted
    fire : Out, one cycle
    """

    def __init__(self):
        super().__init__(
            {
                "count": In(8),
                "timer": In(24),
                "changes": In(1),
                "completed": In(1),
                "urgent": In(1),
                "rearm": In(1),
                "clear": In(1),
                "fire": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.elapsed = elapsed = Timer(len(self.timer))
        waits = Signal()
        left = Signal(8, reset_less=True)  # completions before the one that fires
        has_timer = Signal(reset_less=True)
        is_new, is_over, is_enough = Signal(), Signal(), Signal()
        m.d.comb += [
            elapsed.load.eq(~waits | self.changes),
            elapsed.number.eq(self.timer),
            elapsed.step.eq(1),
            is_new.eq(self.completed | self.rearm),
            is_enough.eq((self.completed & (left == 0)) | (is_new & ~has_timer)),
            is_over.eq(waits & (elapsed.done | ~has_timer)),
            self.fire.eq(self.urgent | is_enough | is_over),
        ]
        m.d.sync += has_timer.eq(self.timer.any())
        with m.If(self.fire | self.clear):
            m.d.sync += waits.eq(0)
        with m.Elif(is_new):
            m.d.sync += waits.eq(1)
        with m.If(self.fire | self.clear | self.changes):
            m.d.sync += left.eq(Mux(self.count == 0, 0, self.count - 1))
        with m.Elif(self.completed):
            m.d.sync += left.eq(left - 1)
        return m


class Interrupts(wiring.Component):
    """The bits of IRQ_STATUS, in its order, and irq.

    Members
    -------
    completed, urgent, rearm : In, one bit for each ring, see :class:`Coalescer`; they go into
        registers
    count, timer : In, of both rings
    changes : In, one cycle: ``count`` and ``timer`` are new two cycles later
    alarm : In, one bit for each ring: HALTED or ERROR was entered
    quarantined : In, one cycle: a channel was quarantined
    fatal : In, one cycle: the link has failed
    clear_bits : In, ones that software wrote to IRQ_STATUS; an event in the same cycle wins
    enable : In, IRQ_ENABLE
    clear : In, clear all
    status : Out, IRQ_STATUS
    irq : Out, register: a bit is set and enabled
    """

    def __init__(self):
        super().__init__(
            {
                "completed": In(2),
                "urgent": In(2),
                "rearm": In(2),
                "count": In(8),
                "timer": In(24),
                "changes": In(1),
                "alarm": In(2),
                "quarantined": In(1),
                "fatal": In(1),
                "clear_bits": In(6),
                "enable": In(6),
                "clear": In(1),
                "status": Out(6),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        changed = Signal(2, init=0b11)
        has_completed = Signal(2)
        is_urgent = Signal(2)
        rearms = Signal(2)
        m.d.sync += [
            changed.eq(Cat(self.changes, changed)),
            has_completed.eq(self.completed),
            is_urgent.eq(self.urgent),
            rearms.eq(self.rearm),
        ]
        fires = []
        for ring in range(2):
            coalescer = Coalescer()
            m.submodules[f"coalescer{ring}"] = coalescer
            m.d.comb += [
                coalescer.count.eq(self.count),
                coalescer.timer.eq(self.timer),
                coalescer.changes.eq(changed.any()),
                coalescer.completed.eq(has_completed[ring]),
                coalescer.urgent.eq(is_urgent[ring]),
                coalescer.rearm.eq(rearms[ring]),
                coalescer.clear.eq(self.clear),
            ]
            fires.append(coalescer.fire)
        events = Cat(*fires, self.alarm, self.quarantined, self.fatal)
        with m.If(self.clear):
            m.d.sync += self.status.eq(0)
        with m.Else():
            m.d.sync += self.status.eq((self.status & ~self.clear_bits) | events)
        m.d.sync += self.irq.eq((self.status & self.enable).any())
        return m
