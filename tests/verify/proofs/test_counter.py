"""Counters in parts are plain arithmetic."""

import pytest
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.lib.counter import PART_BITS, Counter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything


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
        for start in range(dut.step_bits, dut.width, PART_BITS):
            part = total[start : start + PART_BITS]
            m.d.comb += Assert(probe(m, f"dut.is_full{start}", 1) == part.all())
        return m


class Leaves(Elaboratable):
    """What is left is what was loaded less a block for each step, up to a last step."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.block_words
        left, loaded = Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_known = Signal()  # since a load, up to the step from the last block
        m.d.comb += [
            dut.load.eq(anything(m, 1, "load")),
            dut.load_words.eq(anything(m, COUNT_BITS, "load_words")),
            dut.step.eq(anything(m, 1, "step")),
        ]
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
            for start in range(dut.low_bits, COUNT_BITS, PART_BITS):
                part = left[start : start + PART_BITS]
                m.d.comb += [
                    Assert(probe(m, f"dut.part{start}", len(part)) == part),
                    Assert(probe(m, f"dut.is_zero{start}", 1) == (part == 0)),
                ]
        return m


@pytest.mark.proof(Counter, "32 bits by 4 and by 9, 29 bits by 1", induction=1)
@pytest.mark.parametrize(("width", "step_bits"), [(32, 4), (32, 9), (29, 1)])
def test_a_counter_is_the_sum_of_its_steps(formal, width, step_bits):
    formal(Sums(Counter(width, step_bits)))


@pytest.mark.proof(Countdown, "blocks of 8, 32, 64 and 96 words", induction=1)
@pytest.mark.parametrize("block_words", [8, 32, 64, 96])
def test_what_remains_is_what_was_loaded_less_the_steps(formal, block_words):
    formal(Leaves(Countdown(block_words)))


@pytest.mark.proof(Counter, "32 bits by 9", bounded=4)
@pytest.mark.parametrize(
    ("old", "new"), [("Mux(self.restart, 0, first)", "first"), ("carry & is_full", "carry")]
)
def test_a_broken_counter_is_refuted(formal, mutated, old, new):
    formal.refutes(Sums(mutated(Counter, old, new)(32, 9)))


@pytest.mark.proof(Countdown, "blocks of 32 words", bounded=4)
@pytest.mark.parametrize(
    ("old", "new"), [("<= 2 * size", "< 2 * size"), ("part == 1", "part == 0")]
)
def test_a_broken_remainder_is_refuted(formal, mutated, old, new):
    formal.refutes(Leaves(mutated(Countdown, old, new)(32)))
