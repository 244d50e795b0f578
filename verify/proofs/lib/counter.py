"""Counters that are split into parts agree with plain arithmetic."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.lib.counter import PART_BITS, Counter
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
