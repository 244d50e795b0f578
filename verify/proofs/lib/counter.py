"""Counters that are split into parts agree with plain arithmetic."""

from itertools import pairwise

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.lib.counter import PART_BITS, Counter, LateCounter, StepCounter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Sums(Elaboratable):
    """The value is the sum of the steps since the restart, modulo ``2**width``."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            dut.restart.eq(anything(m, 1, "restart")),
            dut.step.eq(anything(m, dut.step_bits, "step")),
        ]
        total = Signal(dut.width)
        with m.If(dut.enable):
            m.d.sync += total.eq(Mux(dut.restart, 0, total) + dut.step)
        m.d.comb += [Assert(dut.value == total), Cover(total == 3)]
        with m.If(dut.enable & ~dut.restart):
            m.d.comb += Cover(total + dut.step >= 1 << dut.step_bits)
        for start in range(dut.step_bits, dut.width - PART_BITS, PART_BITS):
            part = total[start : start + PART_BITS]
            m.d.comb += Assert(probe(m, f"dut.is_full{start}", 1) == part.all())
        return m


class Steps(Elaboratable):
    """The value is what was loaded and a step up or down for each ``step``."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        total, age = Signal(dut.width), Signal(2)  # cycles since the last change, at most 3
        m.d.comb += [
            dut.load.eq(anything(m, 1, "load")),
            dut.load_value.eq(anything(m, dut.width, "load_value")),
            dut.step.eq(anything(m, 1, "step") & (age != 0)),
        ]
        m.d.sync += age.eq(Mux(dut.load | dut.step, 0, Mux(age == 3, 3, age + 1)))
        with m.If(dut.load):
            m.d.sync += total.eq(dut.load_value)
        with m.Elif(dut.step):
            m.d.sync += total.eq(total - 1 if dut.down else total + 1)
        last = 0 if dut.down else (1 << dut.width) - 1
        m.d.comb += [
            Assert(dut.value == total),
            Assert((age < 2) | (dut.is_end == (total == last))),
            Cover(dut.is_end & dut.step),
        ]
        for start in range(0, dut.width, PART_BITS):
            part = total[start : start + PART_BITS]
            is_end = ~part.any() if dut.down else part.all()
            m.d.comb += Assert((age == 0) | (probe(m, f"dut.is_end{start}", 1) == is_end))
        return m


class LateSums(Elaboratable):
    """The value is the sum of the steps since ``clear``, some cycles later.

    ``ago[k]`` is the sum of ``k`` cycles ago, and ``carries[k]`` the carry into the part that is
    added then.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += [
            dut.clear.eq(anything(m, 1, "clear")),
            dut.enable.eq(anything(m, 1, "enable")),
            dut.step.eq(anything(m, dut.step_bits, "step")),
        ]
        ago = [Signal(dut.width, name=f"ago{k}") for k in range(dut.latency + 1)]
        step = Signal(dut.step_bits, name="step0")
        m.d.comb += step.eq(Mux(dut.enable, dut.step, 0))
        steps = [step]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in ago]
        with m.Else():
            m.d.sync += ago[0].eq(ago[0] + step)
            m.d.sync += [later.eq(each) for each, later in pairwise(ago)]
        m.d.comb += [Assert(dut.value == ago[dut.latency - 1]), Cover(dut.value == 3)]
        m.d.comb += Cover(dut.value == 1 << dut.step_bits)
        for k in range(1, dut.latency + 1):
            later = Signal(dut.step_bits, name=f"step{k}")
            m.d.sync += later.eq(Mux(dut.clear, 0, steps[-1]))
            steps.append(later)
            m.d.comb += Assert(ago[k - 1] == (ago[k] + later)[: dut.width])
        low = -(-dut.step_bits // PART_BITS)
        for k in range(low):
            start = k * PART_BITS
            bits = min(PART_BITS, dut.width - start)
            part = probe(m, f"dut.part{start}", bits)
            m.d.comb += Assert(part == ago[k][start : start + bits])
            for cycle in range(dut.latency - 2 - k):  # the last one is part of the value
                later = probe(m, f"dut.part{start}_{cycle}", bits)
                m.d.comb += Assert(later == ago[k + 1 + cycle][start : start + bits])
            total = Signal(start + PART_BITS + 1, name=f"total{k}")
            reach = start + PART_BITS
            m.d.comb += total.eq(ago[k + 1][:reach] + steps[k + 1][:reach])
            if reach < dut.width:
                m.d.comb += Assert(probe(m, f"dut.carry{start}", 1) == total[reach])
            if k + 1 < low:
                kept = probe(m, f"dut.step{start}", dut.step_bits)
                enable = probe(m, f"dut.enable{start}", 1)
                with m.If(enable):
                    m.d.comb += Assert(kept[reach:] == steps[k + 1][reach:])
                with m.Else():
                    m.d.comb += Assert(steps[k + 1] == 0)
        for start in range(low * PART_BITS, dut.width, PART_BITS):
            part = ago[low][start : start + PART_BITS]
            m.d.comb += Assert(probe(m, f"dut.part{start}", len(part)) == part)
            if start + PART_BITS < dut.width:
                m.d.comb += Assert(probe(m, f"dut.is_full{start}", 1) == part.all())
        return m


class Leaves(Elaboratable):
    """The remaining count is the loaded value minus one block per step, until the last step."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.size
        left, loaded = Signal(dut.width), Signal(dut.width)
        is_known = Signal()  # from a load until the step of the last block
        m.d.comb += [
            dut.load.eq(anything(m, 1, "load")),
            dut.load_words.eq(anything(m, dut.width, "load_words")),
            dut.step.eq(anything(m, 1, "step")),
            Assume(~dut.load | dut.is_last),
        ]
        borrows = Signal()  # the upper bits are a cycle late
        m.d.sync += borrows.eq(dut.step & ~dut.load & ~dut.is_last & (left[: dut.low_bits] < size))
        with m.If(dut.load):
            m.d.sync += [left.eq(dut.load_words), loaded.eq(dut.load_words), is_known.eq(1)]
        with m.Elif(dut.step & is_known):
            m.d.sync += [left.eq(left - size), is_known.eq(left > size)]
        with m.If(is_known):
            m.d.comb += [
                Assert(dut.words == left[: dut.low_bits]),
                Assert(dut.is_last == (left <= size)),
                Assert(dut.is_zero == (loaded == 0)),
                Cover((loaded > 2 * size) & dut.is_last & (left == size - 1)),
            ]
        m.d.comb += [
            Assert(is_known | dut.is_last),
            Assert(probe(m, "dut.borrow", 1) == borrows),
            Assert(~borrows | (left[: dut.low_bits] >= (1 << dut.low_bits) - size)),
        ]
        held = Signal(dut.width - dut.low_bits)
        m.d.comb += held.eq(left[dut.low_bits :] + borrows)
        with m.If(is_known & ~dut.is_last):
            for start in range(0, len(held), PART_BITS):
                part, name = held[start : start + PART_BITS], start + dut.low_bits
                m.d.comb += [
                    Assert(probe(m, f"dut.part{name}", len(part)) == part),
                    Assert(probe(m, f"dut.is_zero{name}", 1) == (part == 0)),
                ]
        return m


PROOFS = (
    Proof(
        name="counter",
        promise="The value of a counter is the sum of its steps",
        components=(Counter,),
        design=lambda size: Sums(Counter(*size[:2], for_cells=len(size) > 2)),
        sizes={
            "32 bits by 4": (32, 4),
            "32 by 9": (32, 9),
            "29 by 1": (29, 1),
            "32 by 9, cells": (32, 9, True),
        },
        broken=faults(
            (32, 9),
            4,
            late("dut.first"),
            stuck_at(0, "dut.part9", 0),
            stuck_at(1, "dut.is_full9"),
        ),
    ),
    Proof(
        name="step_counter",
        promise="A number is what was loaded and its steps, up or down",
        components=(StepCounter,),
        design=lambda size: Steps(StepCounter(size[0], down=size[1])),
        sizes={"39 bits, up": (39, False), "20 bits, down": (20, True)},
        broken=faults(
            (20, True),
            6,
            late("dut.is_end"),
            stuck_at(1, "dut.is_end0"),
            stuck_at(0, "dut.value", 8),
        ),
    ),
    Proof(
        name="late_counter",
        promise="A sum of wide steps is given some cycles later, all parts at the same time",
        components=(LateCounter,),
        design=lambda size: LateSums(LateCounter(*size)),
        sizes={"47 bits by 12": (47, 12), "20 by 8": (20, 8), "30 by 17": (30, 17)},
        broken=faults(
            (20, 8),
            8,
            late("dut.value"),
            stuck_at(0, "dut.carry0"),
            stuck_at(1, "dut.is_full8"),
        ),
    ),
    Proof(
        name="countdown",
        promise="The remaining count is the loaded value minus the steps",
        components=(Countdown,),
        design=lambda size: Leaves(Countdown(COUNT_BITS, size)),
        sizes={f"blocks of {size}": size for size in (8, 32, 64, 96)},
        broken=faults(
            32,
            4,
            late("dut.is_last"),
            inverted("dut.is_zero7"),
            stuck_at(0, "dut.words", 0),
            stuck_at(0, "dut.part15", 0),
        ),
    ),
)
