"""Whether a mutant is a fault at all: proofs that nobody at the ports can tell it from the unit.

Unit and mutant stand side by side as one and-inverter graph. Both begin in the same state, which
is any whatever, and with a cycle of reset; they see the same inputs. What must be equal in every
cycle from then on: each ``tready`` and ``tvalid``, and the payload under ``tvalid``. Of the inputs
nothing is assumed but the rules of the stream: what is offered stays until it is taken, and
``tkeep`` of a packet's last beat is contiguous. Where the graph itself does not show it, ABC, which
is a part of Yosys, decides: it merges registers that are equal in all reachable states (van Eijk,
2000) and then tries property-directed reachability (Een, Mishchenko, Brayton, 2011).

One state to begin with for both is enough: what holds of the unit holds from whatever state it is
reset in.
"""

import re
from pathlib import Path

from cdma.sim import aiger
from cdma.synth import tools
from cdma.synth.mutants import CHOICE, Mutant, Mutated

#: Nobody can tell the mutant from the unit: proven.
EQUIVALENT = "equivalent"

_GRAPH = """
read_rtlil mutated.il
proc
setattr -unset init w:*
memory_map
opt -full -keepdc
techmap
opt -full -keepdc
dffunmap
# What Yosys holds for "any value" is any value.
setundef -undriven -anyseq
aigmap
opt_clean
write_aiger -ascii -symbols graph.aag
"""
#: What Yosys hands to ABC, and takes back from it, while ABC does something else.
_GATE = """
module \\top
  wire input 1 \\a
  wire input 2 \\b
  wire output 3 \\y
  cell $_AND_ \\gate
    connect \\A \\a
    connect \\B \\b
    connect \\Y \\y
  end
end
"""
_DECIDE = """
read_blif group.blif
strash
scorr -F 2
write_blif left.blif
{search}
write_status status
read_blif gate.blif
"""
_BLIF = ".model netlist\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n"


def graph(mutated: Mutated, scratch: Path) -> aiger.Graph:
    """And-inverter graph of a unit with its mutants; registers begin with any value."""
    made = tools.execute(
        tools.yosys(),
        ["graph.ys"],
        {"mutated.il": mutated.rtlil, "graph.ys": _GRAPH},
        ["graph.aag"],
        scratch,
    )
    return aiger.parse(made["graph.aag"])


class Judge:
    """Decides about the mutants of a unit; threads may share it.

    Parameters
    ----------
    mutated : Mutated
        The unit with its mutants.
    scratch : Path
        Existing folder for Yosys to work in.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """

    def __init__(self, mutated: Mutated, scratch: Path):
        self._graph = graph(mutated, scratch)
        self._scratch = scratch

    def same_graph(self, mutant: Mutant) -> bool:
        """Whether the shape of the graph alone proves it to be no fault."""
        return not Group(self._graph, [mutant.number]).reached

    def same_registers(self, mutants: list[Mutant]) -> set[Mutant]:
        """Those for which it is enough to know which registers are always equal."""
        made = self._decide([mutant.number for mutant in mutants])
        return {mutant for mutant in mutants if _is_never(made["left.blif"], mutant.number)}

    def search(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT`, when that is proven in that time, or what else is known."""
        made = self._decide([mutant.number], f"pdr -T {seconds}")
        verdict, *_, cycle = made["status"].splitlines()[0].split()
        if verdict == "snl_SAT":
            return f"differs, for one {cycle} cycles after reset"
        is_equal = verdict == "snl_UNSAT" or _is_never(made["left.blif"], mutant.number)
        return EQUIVALENT if is_equal else "undecided"

    def batches(self, mutants: list[Mutant]) -> list[list[Mutant]]:
        """Group mutants so that each group's registers are about as many as the unit's."""
        reached = {mutant: Group(self._graph, [mutant.number]).reached for mutant in mutants}
        batches, room = [], 0
        for mutant in sorted(mutants, key=reached.get):
            if reached[mutant] > room or not batches:
                batches.append([])
                room = len(self._graph.latches)
            batches[-1].append(mutant)
            room -= reached[mutant]
        return batches

    def _decide(self, numbers, search=""):
        inputs = {
            "gate.il": _GATE,
            "gate.blif": _BLIF,
            "group.blif": Group(self._graph, numbers).blif(),
            "decide.abc": _DECIDE.format(search=search),
        }
        arguments = ["-p", "read_rtlil gate.il; abc -script decide.abc"]
        outputs = ["left.blif", "status"]
        return tools.execute(tools.yosys(), arguments, inputs, outputs, self._scratch)


def _is_never(left: str, number: int) -> bool:
    """Whether an output is low for ever, by what ABC left of it."""
    return re.search(rf"^\.names bad{number}\n 0$", left, re.MULTILINE) is not None


class Group:
    """A unit and mutants of it, side by side: an and-inverter graph with an output for each mutant,
    ``bad`` and its number. ``reached`` counts the mutants' registers that may differ."""

    def __init__(self, graph: aiger.Graph, numbers: list[int]):
        self._graph = graph
        self._count = 0  # variables
        self._gates = {}
        self._inputs, self._latches = [], {}
        began = self._latch()
        self._latches[began] = 1
        shared = {name: self._input() for name in graph.inputs}
        shared |= {"aclk": 0, "aresetn": began}

        firsts = {variable: self._input() for variable, _ in graph.latches}
        registers = {variable: self._latch() for variable, _ in graph.latches}

        def state(registers):
            return {
                variable: self._mux(began, register, firsts[variable])
                for variable, register in registers.items()
            }

        unit_state = state(registers)
        unit = self._evaluate(shared | _choice(graph, 0), unit_state)
        for variable, following in graph.latches:
            self._latches[registers[variable]] = _literal(unit, following)
        outputs = {name: _literal(unit, value) for name, value in graph.outputs.items()}
        counts = self._and(began, self._lawful(shared, outputs, began))
        self._bad, self.reached = {}, 0
        for number in numbers:
            # Registers that the fault does not reach, however long, are the same in both.
            chosen, reached = shared | _choice(graph, number), {}
            while True:
                mutant = self._evaluate(chosen, unit_state | state(reached))
                more = {
                    variable: self._latch()
                    for variable, following in graph.latches
                    if variable not in reached
                    and _literal(unit, following) != _literal(mutant, following)
                }
                if not more:
                    break
                reached |= more
            for variable, following in graph.latches:
                if variable in reached:
                    self._latches[reached[variable]] = _literal(mutant, following)
            others = {name: _literal(mutant, value) for name, value in graph.outputs.items()}
            self._bad[number] = self._and(counts, self._differ(outputs, others))
            self.reached += len(reached) + (outputs != others)

    def blif(self) -> str:
        """As text that ABC reads."""
        lines = [".model group"]
        lines += [f".inputs n{literal >> 1}" for literal in self._inputs]
        lines += [f".outputs bad{number}" for number in self._bad]
        lines.append(".names n0")
        for state, following in self._latches.items():
            lines.append(f".latch f{state >> 1} n{state >> 1} 0")
            lines += [f".names n{following >> 1} f{state >> 1}", f"{~following & 1} 1"]
        ends = [*self._bad.values(), *self._latches.values()]
        used, gates = {end >> 1 for end in ends}, []
        for (a, b), result in reversed(self._gates.items()):
            if result >> 1 in used:
                used |= {a >> 1, b >> 1}
                gates.append((a, b, result))
        for a, b, result in gates:
            lines += [f".names n{a >> 1} n{b >> 1} n{result >> 1}", f"{~a & 1}{~b & 1} 1"]
        for number, bad in self._bad.items():
            lines += [f".names n{bad >> 1} bad{number}", f"{~bad & 1} 1"]
        return "\n".join([*lines, ".end", ""])

    def _evaluate(self, inputs, state):
        frame = [0] * (1 + len(inputs) + len(state) + len(self._graph.gates))
        for name, variable in self._graph.inputs.items():
            frame[variable] = inputs[name]
        for variable, value in state.items():
            frame[variable] = value
        for result, left, right in self._graph.gates:
            frame[result] = self._and(_literal(frame, left), _literal(frame, right))
        return frame

    def _lawful(self, inputs, outputs, began):
        """Whoever feeds the unit has obeyed the rules of the stream up to now."""
        broken = 0
        for name in inputs:
            if not name.endswith("_tvalid"):
                continue
            prefix = name.removesuffix("_tvalid")
            stalled = self._latch()
            self._latches[stalled] = self._and(
                began, self._and(inputs[name], outputs[f"{prefix}_tready"] ^ 1)
            )
            changed = inputs[name] ^ 1
            keep = {}
            for payload, value in inputs.items():
                found = re.fullmatch(rf"{prefix}_(tdata|tkeep|tlast)(?:\[(\d+)\])?", payload)
                if found:
                    before = self._latch()
                    self._latches[before] = value
                    changed = self._or(changed, self._xor(before, value))
                    if found[1] == "tkeep":
                        keep[int(found[2])] = value
            broken = self._or(broken, self._and(stalled, changed))
            if keep:
                gap = 0
                for bit in range(1, len(keep)):
                    gap = self._or(gap, self._and(keep[bit], keep[bit - 1] ^ 1))
                last = self._and(inputs[name], inputs[f"{prefix}_tlast"])
                broken = self._or(broken, self._and(last, gap))
        was = self._latch()
        self._latches[was] = self._or(was, broken)
        return self._or(was, broken) ^ 1

    def _differ(self, unit, mutant):
        differs = 0
        for name, value in unit.items():
            different = self._xor(value, mutant[name])
            found = re.fullmatch(r"(\w+)_(tdata|tkeep|tlast)(?:\[\d+\])?", name)
            if found:
                different = self._and(different, unit[f"{found[1]}_tvalid"])
            differs = self._or(differs, different)
        return differs

    def _new(self):
        self._count += 1
        return 2 * self._count

    def _input(self):
        self._inputs.append(self._new())
        return self._inputs[-1]

    def _latch(self):
        literal = self._new()
        self._latches[literal] = 0
        return literal

    def _and(self, a, b):
        if a > b:
            a, b = b, a
        if a == 0 or a == b ^ 1:
            return 0
        if a == 1 or a == b:
            return b
        if (a, b) not in self._gates:
            self._gates[a, b] = self._new()
        return self._gates[a, b]

    def _or(self, a, b):
        return self._and(a ^ 1, b ^ 1) ^ 1

    def _xor(self, a, b):
        return self._or(self._and(a, b ^ 1), self._and(a ^ 1, b))

    def _mux(self, choice, one, other):
        return self._or(self._and(choice, one), self._and(choice ^ 1, other))


def _choice(graph, number):
    """The inputs that choose a mutant."""
    found = {}
    for name in graph.inputs:
        match = re.fullmatch(rf"{CHOICE}(?:\[(\d+)\])?", name)
        if match:
            found[name] = number >> int(match[1] or 0) & 1
    return found


def _literal(frame, literal):
    return frame[literal >> 1] ^ literal & 1
