"""A mutant of a unit is inserted into the same cell of a proof, and violates its assertion."""

import re

import pytest
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.verify.formal import netlist, prover
from cdma.verify.formal.stream_rules import anything
from cdma.verify.mutation.component import Component, ResizedComponent, moved
from cdma.verify.mutation.mutants import Drawn, Mutant, cells, module_of


class Steps(Elaboratable):
    """Counts up from 5, in a register with a reset, modulo 16."""

    def __init__(self):
        self.count = Signal(4, init=5)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


class StepsAlone(Elaboratable):
    """The counter, and what it must be."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Steps()
        expected = Signal(4, init=5)
        m.d.sync += expected.eq(expected + 1)
        m.d.comb += [Assert(dut.count == expected), Cover(dut.count == 9)]
        return m


class Pair(Elaboratable):
    """Two equal adders. The register of the second one has an enable."""

    def __init__(self, bits=4):
        self.a, self.b, self.hold = Signal(bits), Signal(bits), Signal()
        self.sums = [Signal(bits + 1, name=f"sum{k}") for k in range(2)]

    def elaborate(self, platform):
        m = Module()
        held = Signal.like(self.sums[1])
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

    def __init__(self, bits=4):
        self.bits = bits

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = pair = Pair(self.bits)
        drive(m, pair)
        with m.If(~pair.hold):
            m.d.comb += Assert(pair.sums[0] == pair.a + 3)
            m.d.comb += Assert(pair.sums[1] == pair.a + pair.b)
            m.d.comb += Cover(pair.sums[1] == 14)
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


def test_a_fault_comes_into_the_same_cell_of_a_smaller_component(tmp_path):
    drawn = unit(tmp_path)
    text = netlist.flat(netlist.rtlil_of(Alone(3)), tmp_path)
    component = ResizedComponent(drawn, "bench.core.pair", text)
    adders = {cell.name: cell.bits("Y") for cell in cells(text) if cell.kind == "add"}
    mutants = [mutant for mutant in drawn.mutants if mutant.module == "bench.core.pair"]
    for mutant in mutants:
        command = component.command(mutant)
        assert re.search(r"-cell (\S+)", command)[1] in adders
        how = {"mode": prover.BOUNDED, "command": command, "cache": tmp_path}
        assert prover.prove(Alone(3), 2, **how).outcome == "refuted"
    assert component.command(mutants[0]) != component.command(mutants[1])


@pytest.mark.parametrize(
    ("bit", "bits", "others", "there"),
    [(0, 8, 4, 0), (7, 8, 4, 3), (6, 8, 4, 2), (1, 8, 4, 1), (3, 8, 2, 1), (2, 4, 8, 6)],
)
def test_a_bit_is_as_far_from_the_nearer_end(bit, bits, others, there):
    assert moved(bit, bits, others) == there
    assert moved(bit + bits, bits, others) == there + others, "at the next port of a memory"


def test_both_bits_of_a_fault_stay_apart(tmp_path):
    drawn = unit(tmp_path)
    one = next(mutant for mutant in drawn.mutants if mutant.module == "bench.core.pair")
    command = one.command.replace("-mode inv", "-mode cnot1") + " -ctrlbit 1"
    narrow = ResizedComponent(
        drawn, "bench.core.pair", netlist.flat(netlist.rtlil_of(Alone(1)), tmp_path)
    )
    both = Mutant(9, "cnot1", "add", one.module, "Y", 0, 1, "", command)
    assert re.search(r"-portbit 0 -ctrlbit 1$", narrow.command(both))


def of_dut(text, kind):
    """Names of the cells of a kind in the component, and their texts."""
    names = [c.name for c in cells(text) if c.kind == kind and module_of(c.name) == "bench.dut"]
    found = [rf"  cell \${kind} {re.escape(each)}\n(?:    .*\n)*  end\n" for each in names]
    return names, [re.search(each, text)[0] for each in found]


def at_selects(drawn):
    """Mutants at the two multiplexers of a pair's sums."""
    names = [c.name for c in cells(drawn.rtlil) if c.kind == "mux" and "sum" in dict(c.pins)["Y"]]
    inside = [name for name in names if module_of(name) == "bench.core.pair"]
    commands = [f"-mode inv -module top -cell {name} -port S -portbit 0" for name in inside]
    module = "bench.core.pair"
    return [Mutant(9, "inv", "mux", module, "S", 0, None, "", command) for command in commands]


def test_cells_are_found_in_the_order_of_their_numbers(tmp_path):
    """A netlist may have them in any order, and their nets may have no names."""
    drawn = unit(tmp_path)
    text = netlist.flat(netlist.rtlil_of(Alone(3)), tmp_path)
    adders, (first, second) = of_dut(text, "add")
    turned = text.replace(first, "@").replace(second, first).replace("@", second)
    assert of_dut(turned, "add")[0] == adders[::-1]
    component = ResizedComponent(drawn, "bench.core.pair", turned)
    mutants = [mutant for mutant in drawn.mutants if mutant.module == "bench.core.pair"]
    found = [re.search(r"-cell (\S+)", component.command(each))[1] for each in mutants]
    assert found == adders


def test_cells_whose_nets_have_the_same_names_are_the_same(tmp_path):
    """Also if some of the others are missing."""
    drawn = unit(tmp_path)
    text = netlist.flat(netlist.rtlil_of(Alone(3)), tmp_path)
    names, texts = of_dut(text, "mux")
    (gone,) = (each for each in texts if "bench.dut.sum0" in each)
    (left,) = (
        name for name, each in zip(names, texts, strict=True) if r"\Y \bench.dut.sum1" in each
    )
    component = ResizedComponent(drawn, "bench.core.pair", text.replace(gone, ""))
    mutants = sorted(at_selects(drawn), key=lambda each: "$5" in each.command)
    found = [component.command(each) for each in mutants]
    assert f"-cell {left} " in found[0]
    assert found[1] is None


@pytest.mark.parametrize("is_alike", [True, False])
def test_cells_keep_their_numbers_where_others_are_missing(tmp_path, is_alike):
    """Only if the numbers of all other cells of the module are the same in both."""
    drawn = unit(tmp_path)
    text = netlist.flat(netlist.rtlil_of(Alone(3)), tmp_path)
    names, (first, _) = of_dut(text, "add")
    text = text.replace(first, "")
    if not is_alike:  # another cell gets the number of an adder
        (mux, *_), _ = of_dut(text, "mux")
        text = text.replace(f"{mux}\n", f"{names[0]}\n")
    component = ResizedComponent(drawn, "bench.core.pair", text)
    mutants = [mutant for mutant in drawn.mutants if mutant.module == "bench.core.pair"]
    found = [component.command(each) for each in mutants]
    assert found[0] is None
    assert (found[1] is not None) == is_alike
    if is_alike:
        assert f"-cell {names[1]} " in found[1]


@pytest.mark.parametrize(
    ("mode", "port", "outcome"),
    [("const0", "A", "proven"), ("const0", "B", "refuted"), ("const0", "S", "refuted")],
)
def test_a_reset_may_have_the_other_level(tmp_path, mode, port, outcome):
    """The unit's is low when it is active: its multiplexer has the value of the reset at A."""
    text = netlist.flat(netlist.rtlil_of(StepsAlone()), tmp_path)
    (mux,), (body,) = of_dut(text, "mux")
    low = body.replace("\\rst", "\\aresetn").replace("\\A ", "\\C ")
    low = low.replace("\\B ", "\\A ").replace("\\C ", "\\B ")
    drawn = Drawn("unit", text.replace(body, low), [])
    # Bit 3 of the reset's value is 0 anyway.
    bit = 3 if port == "A" else 0
    command = f"-mode {mode} -module top -cell {mux} -port {port} -portbit {bit}"
    mutant = Mutant(1, mode, "mux", module_of(mux), port, bit, None, "", command)
    component = ResizedComponent(drawn, "bench.dut", text)
    how = {"mode": prover.BOUNDED, "command": component.command(mutant), "cache": tmp_path}
    assert prover.prove(StepsAlone(), 8, **how).outcome == outcome


class Picks(Elaboratable):
    """One of three words, in a register."""

    def __init__(self, width):
        self.words, self.select = [Signal(width, name=f"word{k}") for k in range(3)], Signal(2)
        self.picked = Signal(width)

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.select):
            for k, word in enumerate(self.words):
                with m.Case(k):
                    m.d.sync += self.picked.eq(word)
        return m


class Driven(Elaboratable):
    """A component, with any inputs, whose output is not 1."""

    def __init__(self, dut, inputs, output):
        self.dut, self.inputs, self.output = dut, inputs, output

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = self.dut
        for k, each in enumerate(self.inputs):
            m.d.comb += each.eq(anything(m, len(each), f"input{k}"))
        m.d.comb += Assert(self.output != 1)
        return m


def picks(width):
    """The choice of words of a width."""
    dut = Picks(width)
    return Driven(dut, (*dut.words, dut.select), dut.picked)


@pytest.mark.parametrize(
    ("bit", "other", "there"),
    [(3, 9, (1, 5)), (4, 5, (2, 3)), (5, 4, (3, 2)), (7, 3, (3, 1)), (1, 2, (1, 0))],
)
def test_both_bits_of_a_fault_may_be_of_different_words(tmp_path, bit, other, there):
    """A multiplexer of several words has them at one pin."""
    text, fewer = (netlist.flat(netlist.rtlil_of(picks(n)), tmp_path) for n in (4, 2))
    text = text.replace("bench", "unit")
    (name,) = (cell.name for cell in cells(text) if cell.kind == "pmux")
    command = f"-mode cnot1 -module top -cell {name} -port B -portbit {bit} -ctrlbit {other}"
    mutant = Mutant(1, "cnot1", "pmux", module_of(name), "B", bit, other, "", command)
    component = ResizedComponent(Drawn("unit", text, [mutant]), "unit.dut", fewer)
    assert component.command(mutant).endswith("-portbit {} -ctrlbit {}".format(*there))


class Stores(wiring.Component):
    """A memory with several read ports."""

    def __init__(self, ports):
        self.ports = ports
        super().__init__(
            {"address": In(3), "data": In(4), "reads": Out(4).array(ports), "write": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Memory(shape=4, depth=8, init=[])
        write = kept.write_port()
        m.d.comb += [write.en.eq(self.write), write.addr.eq(self.address), write.data.eq(self.data)]
        for each in self.reads:
            read = kept.read_port()
            m.d.comb += [read.addr.eq(self.address), each.eq(read.data)]
        return m


def stores(ports):
    """The memory with so many read ports."""
    dut = Stores(ports)
    return Driven(dut, (dut.address, dut.data, dut.write), Cat(dut.reads))


@pytest.mark.parametrize(("bit", "other", "is_there"), [(5, 2, 1), (5, 9, 0), (9, 5, 0), (9, 8, 0)])
def test_a_fault_at_a_port_that_a_memory_does_not_have_is_not_inserted(
    tmp_path, bit, other, is_there
):
    text, fewer = (netlist.flat(netlist.rtlil_of(stores(n)), tmp_path) for n in (3, 2))
    text = text.replace("bench", "unit")
    (name,) = (cell.name for cell in cells(text) if cell.kind == "mem_v2")
    command = f"-mode cnot1 -module top -cell {name} -port RD_DATA -portbit {bit} -ctrlbit {other}"
    mutant = Mutant(1, "cnot1", "mem_v2", module_of(name), "RD_DATA", bit, other, "", command)
    component = ResizedComponent(Drawn("unit", text, [mutant]), "unit.dut", fewer)
    assert (component.command(mutant) is not None) == bool(is_there)
