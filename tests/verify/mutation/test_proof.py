"""Equivalent mutants are proven equivalent, faults are not. Inputs obey the stream rules."""

import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Mux, Signal

from cdma.verify.mutation.mutants import Mutant
from cdma.verify.mutation.proof import EQUIVALENT, Judge, graph

#: Difference from the unit, by number of the mutant.
MUTANTS = {
    1: "nothing: a bit that is never set is inverted where it is set",
    2: "a payload that is not offered",
    3: "a payload that is offered",
    4: "the difference of two registers with equal values is observed",
    5: "the output in a cycle far away",
    6: "something that only an unlawful source shows",
    7: "the value before reset",
}


def unit():
    """A unit with a register for one beat, and counters."""
    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=False)
    pins = {
        name: Signal(width, name=name)
        for name, width in {
            "aclk": 1,
            "aresetn": 1,
            "mutant": 3,
            "s_axis_tdata": 2,
            "s_axis_tkeep": 2,
            "s_axis_tlast": 1,
            "s_axis_tvalid": 1,
            "s_axis_tready": 1,
            "m_axis_tdata": 2,
            "m_axis_tvalid": 1,
            "m_axis_tready": 1,
        }.items()
    }

    def chosen(number):
        return pins["mutant"] == number

    held, full = Signal(2, reset_less=True), Signal()
    valid, data = pins["s_axis_tvalid"], pins["s_axis_tdata"]
    takes = ~full & valid
    m.d.comb += [
        domain.clk.eq(pins["aclk"]),
        domain.rst.eq(~pins["aresetn"]),
        pins["s_axis_tready"].eq(~full),
        pins["m_axis_tvalid"].eq(full),
    ]
    one, two = Signal(4), Signal(4)
    before, waited = Signal(2), Signal()
    never = Signal()
    m.d.sync += [
        full.eq(takes | (full & ~pins["m_axis_tready"])),
        one.eq(one + takes),
        two.eq(two + takes),
        before.eq(data),
        waited.eq(valid & full),
        never.eq(never & takes),
    ]
    with m.If(takes):
        m.d.sync += held.eq(data)
    with m.If(chosen(7) & domain.rst):
        m.d.sync += held.eq(~held)
    gap = valid & pins["s_axis_tlast"] & (pins["s_axis_tkeep"] == 2)
    wrong = (
        (chosen(1) & never)
        | (chosen(2) & ~full)
        | (chosen(3) & full)
        | (chosen(4) & (one != two))
        | (chosen(5) & (one == 9) & (held == 3))
        | (chosen(6) & ((waited & (data != before)) | gap))
    )
    m.d.comb += pins["m_axis_tdata"].eq(Mux(wrong, ~held, held))
    return rtlil.convert(m, name="top", ports=list(pins.values()))


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    return Judge(graph(unit(), folder), folder)


def mutant(number):
    return Mutant(number, "inv", "mux", "core", "Y", 0, None, "hdl/unit.py:1", "")


@pytest.mark.slow  # a faster machine decides more in the same time
@pytest.mark.parametrize("number", [1, 2, 4, 6, 7], ids=MUTANTS.get)
def test_no_fault_is_proven_to_be_none(judge, number):
    assert judge.same_runs(mutant(number), seconds=30) == EQUIVALENT


@pytest.mark.slow  # a faster machine decides more in the same time
@pytest.mark.parametrize("number", [1, 4, 7], ids=MUTANTS.get)
def test_steps_are_the_same_but_for_what_does_not_matter(judge, number):
    """The value before reset is in a register that is a don't-care while it is empty."""
    assert judge.same_steps(mutant(number), seconds=30) == EQUIVALENT


@pytest.mark.slow  # a faster machine decides more in the same time
@pytest.mark.parametrize("number", [3, 5], ids=MUTANTS.get)
def test_a_fault_is_not(judge, number):
    assert judge.same_graph(mutant(number)) == "undecided"
    assert judge.same_steps(mutant(number), seconds=30) == "undecided"
    differs = judge.same_runs(mutant(number), seconds=30)
    (cycle,) = re.fullmatch(r"differs, for one (\d+) cycles after reset", differs).groups()
    assert int(cycle) >= (18 if number == 5 else 1)


def test_the_unit_is_its_own_mutant(judge):
    assert judge.same_graph(mutant(0)) == EQUIVALENT
    assert judge.same_graph(mutant(3)) == "undecided"
