"""A unit and its mutants as one and-inverter graph, with a flag for a visible difference."""

import re

from cdma.verify.formal import aiger
from cdma.verify.formal.logic import Logic
from cdma.verify.mutation.mutants import CHOICE

_PAYLOAD = "tdata|tkeep|tlast"


def choice(graph: aiger.Graph, number: int) -> dict[str, int]:
    """Values of the input bits that select a mutant."""
    found = {}
    for name in graph.inputs:
        match = re.fullmatch(rf"{CHOICE}(?:\[(\d+)\])?", name)
        if match:
            found[name] = number >> int(match[1] or 0) & 1
    return found


def offered_by(name: str) -> str | None:
    """Name of the ``tvalid`` of a payload output; ``None`` for other outputs."""
    found = re.fullmatch(rf"(\w+)_(?:{_PAYLOAD})(?:\[\d+\])?", name)
    return found and f"{found[1]}_tvalid"


def outputs_differ(logic: Logic, unit: dict[str, int], mutant: dict[str, int]) -> int:
    """Literal: the outputs differ in this cycle. Payload without ``tvalid`` is a don't-care."""
    differs = 0
    for name, value in unit.items():
        different = logic.differ(value, mutant[name])
        valid = offered_by(name)
        if valid:
            different = logic.both(different, unit[valid])
        differs = logic.either(differs, different)
    return differs


def is_lawful(logic: Logic, inputs: dict[str, int], outputs: dict[str, int], began: int) -> int:
    """Literal: the inputs have obeyed the stream rules in all cycles since reset (``began``)."""
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
    """A unit in a graph. It starts in any state, with a cycle of reset.

    Parameters
    ----------
    graph : aiger.Graph
    free : callable or None
        Function of the literals of the registers. It replaces those of don't-care registers.
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
        """Next state and outputs of a mutant with the same inputs as the unit."""
        return self.logic.evaluate(self.graph, self.inputs | choice(self.graph, number), state)
