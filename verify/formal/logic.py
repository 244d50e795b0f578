"""Build and-inverter graphs and write them for ABC."""

from cdma.errors import require
from cdma.verify.formal import aiger


class Logic:
    """An and-inverter graph under construction, with structural hashing (no duplicate gates).

    Literals are those of AIGER: twice the number of a variable, plus one if negated; 0 is false.

    Members
    -------
    inputs : literals of the inputs
    latches : literal of the next state, by literal of the register; all registers start at 0
    gates : literal of each gate, by the literals of its two inputs, in topological order
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
        """Add a register. Its next state is 0 until the caller sets it."""
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
        """Multiplexer: ``one`` if ``choice`` is true, else ``other``."""
        return self.either(self.both(choice, one), self.both(choice ^ 1, other))

    def all(self, literals) -> int:
        """Conjunction of any number of literals."""
        result = 1
        for literal in literals:
            result = self.both(result, literal)
        return result

    def evaluate(
        self, graph: aiger.Graph, inputs: dict[str, int], state: dict[int, int]
    ) -> tuple[dict[int, int], dict[str, int]]:
        """Add one cycle of another graph. Returns its next state and its outputs."""
        # A cone keeps the numbers of its graph.
        most = max((0, *graph.inputs.values(), *(gate[0] for gate in graph.gates), *state))
        frame = [0] * (1 + most)
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

    def solver(self):
        """SAT solver (CaDiCaL) with all gates so far, for literals as of :func:`signed`."""
        solvers = require("pysat.solvers", extra="formal", verb="a proof")
        solver = solvers.Solver(name="cadical195")
        solver.add_clause([signed(1)])
        for (a, b), result in self.gates.items():
            a, b, result = signed(a), signed(b), signed(result)
            solver.append_formula([[-result, a], [-result, b], [result, -a, -b]])
        return solver

    def blif(self, bad: int) -> str:
        """The graph as BLIF text for ABC, with the output ``bad``."""
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


def signed(literal: int) -> int:
    """A literal as that of a solver: its variable counts from 1, and is negative if negated."""
    variable = (literal >> 1) + 1
    return -variable if literal & 1 else variable


def is_true(model: list[int], literal: int) -> bool:
    """Whether a literal is true in the model of a solver."""
    index = literal >> 1
    return (index < len(model) and model[index] > 0) != bool(literal & 1)
