"""Interrupts: what waits, coalescing of completions, and the level of irq."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Coalescer(wiring.Component):
    """Joins the completions of one ring into fewer interrupts.

    Fires at ``count`` completions, or ``timer`` cycles after the first of them; at once when
    ``timer`` is 0, or for a status other than OK.

    Members
    -------
    count, timer : In, as of the register IRQ_COALESCE
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
                "completed": In(1),
                "urgent": In(1),
                "rearm": In(1),
                "clear": In(1),
                "fire": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        waits = Signal()
        number = Signal(8)
        elapsed = Signal(24)
        is_new, is_over, is_enough = Signal(), Signal(), Signal()
        total = Signal(9)
        m.d.comb += [
            total.eq(number + self.completed),
            is_enough.eq((total != 0) & (total >= self.count)),
            is_new.eq(self.completed | self.rearm),
            is_over.eq(waits & (elapsed >= self.timer)),
            self.fire.eq(self.urgent | (is_new & ((self.timer == 0) | is_enough)) | is_over),
        ]
        with m.If(self.fire | self.clear):
            m.d.sync += [waits.eq(0), number.eq(0), elapsed.eq(0)]
        with m.Else():
            with m.If(is_new):
                m.d.sync += [waits.eq(1), number.eq(total)]
            with m.If(waits):
                m.d.sync += elapsed.eq(elapsed + 1)
        return m


class Interrupts(wiring.Component):
    """The bits of IRQ_STATUS, in its order, and irq.

    Members
    -------
    completed, urgent, rearm : In, one bit for each ring, see :class:`Coalescer`
    count, timer : In, of both rings
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
        fires = []
        for ring in range(2):
            coalescer = Coalescer()
            m.submodules[f"coalescer{ring}"] = coalescer
            m.d.comb += [
                coalescer.count.eq(self.count),
                coalescer.timer.eq(self.timer),
                coalescer.completed.eq(self.completed[ring]),
                coalescer.urgent.eq(self.urgent[ring]),
                coalescer.rearm.eq(self.rearm[ring]),
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
