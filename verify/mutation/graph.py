"""A unit and its mutants as one and-inverter graph, with what nobody at the ports may tell."""

import re

from cdma.verify.formal import aiger
from cdma.verify.mutation.mutants import CHOICE

_PAYLOAD = "tdata|tkeep|tlast"


class Logic:
    """An and-inverter graph that is being built, without two gates that are the same.

    Literals are those of AIGER: twice the number of a variable, plus one where it is negated; 0 is
    false.

    Members
    -------
    inputs : literals that are free in each cycle
    latches : next state of each register, by its literal; all begin at 0
    gates : literal by those of its two inputs, each gate behind those that it reads
    """

    def __init__(self):
        self._count = 0
        self.inputs = []
        self.latches = {}
        self.gates = {}

    def _new(self):
        self._count += 1
        return 2 * self._count

    def input(self) -> int:
        """Add an input."""
        self.inputs.append(self._new())
        return self.inputs[-1]

    def latch(self) -> int:
        """Add a register that stays 0 until it is given its next state."""
        literal = self._new()
        self.latches[literal] = 0
        return literal

    def both(self, a: int, b: int) -> int:
        """Conjunction."""
        if a > b:
            a, b = b, a
        if a == 0 or a == b ^ 1:
            return 0
        if a == 1 or a == b:
            return b
        if (a, b) not in self.gates:
            self.gates[a, b] = self._new()
        return self.gates[a, b]

    def either(self, a: int, b: int) -> int:
        """Disjunction."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        """Exclusive or."""
        return self.either(self.both(a, b ^ 1), self.both(a ^ 1, b))

    def choose(self, choice: int, one: int, other: int) -> int:
        """``one`` where ``choice`` is true."""
        return self.either(self.both(choice, one), self.both(choice ^ 1, other))

    def all(self, literals) -> int:
        """Conjunction of any number."""
        result = 1
        for literal in literals:
            result = self.both(result, literal)
        return result

    def evaluate(
        self, graph: aiger.Graph, inputs: dict[str, int], state: dict[int, int]
    ) -> tuple[dict[int, int], dict[str, int]]:
        """Lay out a cycle of a graph: its next state, and its outputs."""
        frame = [0] * (1 + len(graph.inputs) + len(graph.latches) + len(graph.gates))
        for name, variable in graph.inputs.items():
            frame[variable] = inputs[name]
        for variable, value in state.items():
            frame[variable] = value
        for result, left, right in graph.gates:
            frame[result] = self.both(aiger.value(frame, left), aiger.value(frame, right))
        return (
            {variable: aiger.value(frame, following) for variable, following in graph.latches},
            {name: aiger.value(frame, literal) for name, literal in graph.outputs.items()},
        )

    def blif(self, bad: int) -> str:
        """As text that ABC reads, with the output ``bad``."""
        lines = [".model group", *(f".inputs n{literal >> 1}" for literal in self.inputs)]
        lines += [".outputs bad", ".names n0"]
        for state, following in self.latches.items():
            lines.append(f".latch f{state >> 1} n{state >> 1} 0")
            lines += [f".names n{following >> 1} f{state >> 1}", f"{~following & 1} 1"]
        used, gates = {end >> 1 for end in (bad, *self.latches.values())}, []
        for (a, b), result in reversed(self.gates.items()):
            if result >> 1 in used:
                used |= {a >> 1, b >> 1}
                gates.append((a, b, result))
        for a, b, result in gates:
            lines += [f".names n{a >> 1} n{b >> 1} n{result >> 1}", f"{~a & 1}{~b & 1} 1"]
        return "\n".join([*lines, f".names n{bad >> 1} bad", f"{~bad & 1} 1", ".end", ""])


def choice(graph: aiger.Graph, number: int) -> dict[str, int]:
    """Bits of the inputs that choose a mutant."""
    found = {}
    for name in graph.inputs:
        match = re.fullmatch(rf"{CHOICE}(?:\[(\d+)\])?", name)
        if match:
            found[name] = number >> int(match[1] or 0) & 1
    return found


def offered_by(name: str) -> str | None:
    """Of an output that is payload, the one that says whether it is offered."""
    found = re.fullmatch(rf"(\w+)_(?:{_PAYLOAD})(?:\[\d+\])?", name)
    return found and f"{found[1]}_tvalid"


def outputs_differ(logic: Logic, unit: dict[str, int], mutant: dict[str, int]) -> int:
    """Somebody at the ports can tell them apart in this cycle: a payload counts only if offered."""
    differs = 0
    for name, value in unit.items():
        different = logic.differ(value, mutant[name])
        valid = offered_by(name)
        if valid:
            different = logic.both(different, unit[valid])
        differs = logic.either(differs, different)
    return differs


def is_lawful(logic: Logic, inputs: dict[str, int], outputs: dict[str, int], began: int) -> int:
    """Whoever feeds the unit has obeyed the rules of the stream up to now, since it ``began``."""
    broken = 0
    for prefix in [name.removesuffix("_tvalid") for name in inputs if name.endswith("_tvalid")]:
        valid = inputs[f"{prefix}_tvalid"]
        stalled = logic.latch()
        logic.latches[stalled] = logic.both(
            began, logic.both(valid, outputs[f"{prefix}_tready"] ^ 1)
        )
        changed = valid ^ 1
        keep = {}
        for payload, value in inputs.items():
            found = re.fullmatch(rf"{prefix}_({_PAYLOAD})(?:\[(\d+)\])?", payload)
            if found:
                before = logic.latch()
                logic.latches[before] = value
                changed = logic.either(changed, logic.differ(before, value))
                if found[1] == "tkeep":
                    keep[int(found[2])] = value
        broken = logic.either(broken, logic.both(stalled, changed))
        gap = 0
        for bit in range(1, len(keep)):
            gap = logic.either(gap, logic.both(keep[bit], keep[bit - 1] ^ 1))
        if keep:
            last = logic.both(valid, inputs[f"{prefix}_tlast"])
            broken = logic.either(broken, logic.both(last, gap))
    was = logic.latch()
    logic.latches[was] = logic.either(was, broken)
    return logic.latches[was] ^ 1


class Side:
    """A unit in a graph: it begins in any state whatever, with a cycle of reset.

    Parameters
    ----------
    graph : aiger.Graph
    free : callable or None
        Given the registers' literals, replaces those of registers that may hold anything.
    """

    def __init__(self, graph: aiger.Graph, free=None):
        self.graph = graph
        self.logic = logic = Logic()
        self.began = logic.latch()
        logic.latches[self.began] = 1
        self.inputs = {name: logic.input() for name in graph.inputs}
        self.inputs |= {"aclk": 0, "aresetn": self.began}
        self.firsts = {variable: logic.input() for variable, _ in graph.latches}
        registers = {variable: logic.latch() for variable, _ in graph.latches}
        begun = free(logic, registers) if free else registers
        self.state = {
            variable: logic.choose(self.began, register, self.firsts[variable])
            for variable, register in begun.items()
        }
        self.following, self.outputs = self.mutant(0, self.state)
        for variable, literal in registers.items():
            logic.latches[literal] = self.following[variable]
        lawful = is_lawful(logic, self.inputs, self.outputs, self.began)
        self.counts = logic.both(self.began, lawful)

    def mutant(self, number: int, state: dict[int, int]) -> tuple[dict[int, int], dict[str, int]]:
        """Next state and outputs of a mutant, whose inputs are the unit's."""
        return self.logic.evaluate(self.graph, self.inputs | choice(self.graph, number), state)
