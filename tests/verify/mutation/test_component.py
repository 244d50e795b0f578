"""A mutant of a unit is inserted into the same cell of a proof, and violates its assertion."""

import re

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.verify.formal import netlist, prover
from cdma.verify.formal.stream_rules import anything
from cdma.verify.mutation.component import Component
from cdma.verify.mutation.mutants import Drawn, Mutant, module_of


class Pair(Elaboratable):
    """Two equal adders. The register of the second one has an enable."""

    def __init__(self):
        self.a, self.b, self.hold = Signal(4), Signal(4), Signal()
        self.sums = [Signal(5, name=f"sum{k}") for k in range(2)]

    def elaborate(self, platform):
        m = Module()
        held = Signal(5)
        for total, other in zip(self.sums, (3, self.b), strict=True):
            m.d.comb += total.eq(Mux(self.hold, held, self.a + other))
        m.d.sync += held.eq(self.sums[1])
        return m


def drive(m, pair):
    for pin in (pair.a, pair.b, pair.hold):
        m.d.comb += pin.eq(anything(m, len(pin), "any"))


class Unit(Elaboratable):
    """Contains two pairs, at different depths."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = Module()
        sums = []
        for name in ("pair", "other"):
            core.submodules[name] = pair = Pair()
            drive(m, pair)
            sums += pair.sums
        m.d.comb += [Assert(sum(sums) != 100), Cover(sum(sums) == 3)]
        return m


class Alone(Elaboratable):
    """The pair and its assertions."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = pair = Pair()
        drive(m, pair)
        with m.If(~pair.hold):
            m.d.comb += Assert(pair.sums[0] == pair.a + 3)
            m.d.comb += Assert(pair.sums[1] == pair.a + pair.b)
            m.d.comb += Cover(pair.sums[1] == 30)
        return m


def unit(tmp_path):
    """Netlist of the unit, and mutants that invert the lowest output bit of each adder."""
    text = netlist.flat(netlist.rtlil_of(Unit()), tmp_path)
    names = re.findall(r"cell \$add \\?(\S+)", text)
    commands = [f"-mode inv -module top -cell {name} -port Y -portbit 0" for name in names]
    mutants = [
        Mutant(number, "inv", "add", module_of(name), "Y", 0, None, "", command)
        for number, (name, command) in enumerate(zip(names, commands, strict=True), 1)
    ]
    return Drawn("unit", text, mutants)


def test_each_cell_is_found_again(tmp_path):
    drawn = unit(tmp_path)
    mutants = [mutant for mutant in drawn.mutants if mutant.module == "bench.core.pair"]
    assert len(mutants) == 2
    alone = netlist.flat(netlist.rtlil_of(Alone()), tmp_path)
    component = Component(drawn, "bench.core.pair", alone)
    verdicts = [
        prover.prove(
            Alone(), 2, mode=prover.BOUNDED, command=component.command(mutant), cache=tmp_path
        )
        for mutant in mutants
    ]
    assert [verdict.outcome for verdict in verdicts] == ["refuted", "refuted"]
    first, second = (int(verdict.statement.split(":")[1].split("-")[0]) for verdict in verdicts)
    assert second == first + 1
    assert prover.prove(Alone(), 2, mode=prover.BOUNDED, cache=tmp_path).outcome == "proven"


def test_a_proof_that_lacks_the_cells_takes_no_fault(tmp_path):
    drawn = unit(tmp_path)
    alone = netlist.flat(netlist.rtlil_of(Alone()), tmp_path)
    component = Component(drawn, "bench.core", alone)
    inside = [mutant for mutant in drawn.mutants if mutant.module.startswith("bench.core.")]
    assert [component.command(mutant) for mutant in inside] == [None] * 4
