"""And-inverter graphs: read those that Yosys writes, and unroll them in time for a SAT solver."""

from dataclasses import dataclass, field

from cdma.errors import require

#: Literal of a frame that is always true. Its negation is false.
TRUE = 1
#: Beginning of the names of inputs that have none: Yosys adds them for undefined values.
UNKNOWN = "unknown.i"


@dataclass(frozen=True)
class Graph:
    """Next-state and output functions of a design, in AIGER literals.

    A literal is twice the number of a variable, plus one if negated; variable 0 is false. The order
    is inputs, latches, gates. Gates are in topological order.

    Members
    -------
    inputs : variable by name; ``port[bit]`` for wide ports
    latches : variable and next-state literal of each register bit; registers start at any value
    gates : variable of each AND gate and its two input literals
    outputs : literal by name
    registers : variable by name, for registers with a known name
    """

    inputs: dict[str, int]
    latches: list[tuple[int, int]]
    gates: list[tuple[int, int, int]]
    outputs: dict[str, int]
    registers: dict[str, int] = field(default_factory=dict)

    def cone(self, outputs: list[str]) -> "Graph":
        """The cone of influence of these outputs. Keeps all inputs and variable numbers."""
        states, gates = dict(self.latches), {result: (a, b) for result, a, b in self.gates}
        seen, waiting = set(), [self.outputs[name] >> 1 for name in outputs]
        while waiting:
            variable = waiting.pop()
            if variable not in seen:
                seen.add(variable)
                if variable in states:
                    waiting.append(states[variable] >> 1)
                waiting += [literal >> 1 for literal in gates.get(variable, ())]
        return Graph(
            self.inputs,
            [latch for latch in self.latches if latch[0] in seen],
            [gate for gate in self.gates if gate[0] in seen],
            {name: self.outputs[name] for name in outputs},
        )

    def evaluate(self, state: dict[int, int], inputs: dict[str, int], ones: int = 1) -> list[int]:
        """Value of each variable in a cycle, from the values of the registers and inputs.

        Values may have many bits, one per trace. ``ones`` has the bits of all traces set.
        """
        values = [0] * (1 + len(self.inputs) + len(self.latches) + len(self.gates))
        for variable, value in state.items():
            values[variable] = value
        for name, variable in self.inputs.items():
            values[variable] = inputs[name]
        inverted = (0, ones)
        for result, a, b in self.gates:
            values[result] = (values[a >> 1] ^ inverted[a & 1]) & (values[b >> 1] ^ inverted[b & 1])
        return values

    def evaluator(self):
        """:meth:`evaluate` compiled for this graph. It pays off from hundreds of cycles."""
        lines = ["def evaluate(state, inputs, ones=1):", " n0 = 0"]
        lines += [f" n{variable} = inputs[{name!r}]" for name, variable in self.inputs.items()]
        lines += [f" n{variable} = state[{variable}]" for variable, _ in self.latches]
        for result, *literals in self.gates:
            a, b = (f"n{each >> 1} ^ ones" if each & 1 else f"n{each >> 1}" for each in literals)
            lines.append(f" n{result} = ({a}) & ({b})")
        count = 1 + len(self.inputs) + len(self.latches) + len(self.gates)
        lines.append(f" return [{', '.join(f'n{variable}' for variable in range(count))}]")
        names = {}
        exec("\n".join(lines), names)
        return names["evaluate"]


def value(values, literal: int, ones: int = 1) -> int:
    """Value of a literal, from the values of the variables, see :meth:`Graph.evaluate`."""
    return values[literal >> 1] ^ (ones if literal & 1 else 0)


def parse(text: str) -> Graph:
    """Parse an ASCII AIGER file with a symbol table (Biere, AIGER 1.9).

    Raises
    ------
    ValueError
        When the text is no ASCII AIGER, a register has an initial value, or an output has no name.
    """
    lines = iter(text.splitlines())
    kind, *header = next(lines, "").split()[:6] or [""]
    if kind != "aag":
        raise ValueError(f"Graph must be ASCII AIGER, not {kind!r}")
    _, inputs, latches, outputs, gates = map(int, header)

    def take(count):
        return [[int(number) for number in next(lines).split()] for _ in range(count)]

    variables = [literal // 2 for (literal,) in take(inputs)]
    states = []
    for state, following, *initial in take(latches):
        if initial != [state]:
            raise ValueError(f"Register {state // 2} must have no initial value, not {initial!r}")
        states.append((state // 2, following))
    literals = [literal for (literal,) in take(outputs)]
    table = [(result // 2, left, right) for result, left, right in take(gates)]
    names = {}
    for line in lines:
        if line == "c":
            break
        key, _, name = line.partition(" ")
        names[key] = name
    missing = [index for index in range(outputs) if f"o{index}" not in names]
    if missing:
        raise ValueError(f"Output must have a name, not only the number {missing[0]}")
    return Graph(
        inputs={names.get(f"i{i}", f"{UNKNOWN}{i}"): var for i, var in enumerate(variables)},
        latches=states,
        gates=table,
        outputs={names[f"o{i}"]: literal for i, literal in enumerate(literals)},
    )


class Frames:
    """A graph unrolled in time, frame by frame, in an incremental SAT solver (CaDiCaL).

    Constant gates and duplicate gates add no clauses. Often these are most of the gates.

    Parameters
    ----------
    graph : Graph
    fixed : predicate on names
        Selects the inputs with the same value in all frames.
    """

    def __init__(self, graph: Graph, fixed=lambda name: False):
        solvers = require("pysat.solvers", extra="formal", verb="a proof")
        self.graph = graph
        self._solver = solvers.Solver(name="cadical195")
        self._solver.add_clause([TRUE])
        self._variables = TRUE
        self._gates = {}
        self._fixed = {name: self.new() for name in graph.inputs if fixed(name)}
        self._frames = []
        owners = [0, *graph.inputs.values(), *(row[0] for row in graph.latches + graph.gates)]
        self._size = max(owners) + 1

    def __len__(self):
        return len(self._frames)

    def new(self) -> int:
        """A new unconstrained variable."""
        self._variables += 1
        return self._variables

    def add(self, inputs: dict[str, int]) -> None:
        """Append a frame. Its registers are the next state of the last frame, free in the first.

        ``inputs`` gives literals of inputs. All other inputs are free.
        """
        graph = self.graph
        frame = [0] * self._size
        frame[0] = -TRUE
        for name, variable in graph.inputs.items():
            frame[variable] = inputs.get(name) or self._fixed.get(name) or self.new()
        before = self._frames[-1] if self._frames else None
        for variable, following in graph.latches:
            frame[variable] = self.new() if before is None else _literal(before, following)
        gates, clauses = self._gates, []
        for variable, left, right in graph.gates:
            a, b = _literal(frame, left), _literal(frame, right)
            if a == -TRUE or b == -TRUE or a == -b:
                value = -TRUE
            elif a in (TRUE, b):
                value = b
            elif b == TRUE:
                value = a
            else:
                key = (a, b) if a < b else (b, a)
                value = gates.get(key)
                if value is None:
                    value = gates[key] = self.new()
                    clauses += [[-value, a], [-value, b], [value, -a, -b]]
            frame[variable] = value
        self._frames.append(frame)
        self._solver.append_formula(clauses)

    def output(self, name: str, index: int = -1) -> int:
        """Literal of an output in a frame, by default the last."""
        return _literal(self._frames[index], self.graph.outputs[name])

    def input(self, name: str, index: int) -> int:
        """Literal of an input in a frame."""
        return self._frames[index][self.graph.inputs[name]]

    def demand(self, *literals: int) -> None:
        """Add a clause: at least one of the literals is true."""
        self._solver.add_clause(literals)

    def differ(self) -> None:
        """Add clauses: the state of the last frame differs from the state of each earlier frame."""
        last = self._frames[-1]
        for earlier in self._frames[:-1]:
            different = []
            for variable, _ in self.graph.latches:
                a, b = earlier[variable], last[variable]
                if a == -b:
                    break
                if a != b:
                    bit = self.new()
                    self._solver.append_formula([[-bit, a, b], [-bit, -a, -b]])
                    different.append(bit)
            else:
                self.demand(-TRUE, *different)

    def solve(self, literal: int) -> bool:
        """Whether a trace exists in which ``literal`` is true."""
        self._model = None
        if not self._solver.solve(assumptions=[literal]):
            return False
        self._model = self._solver.get_model()
        return True

    def value(self, literal: int) -> bool:
        """Value of a literal in the last trace found."""
        index = abs(literal) - 1
        is_true = index < len(self._model) and self._model[index] > 0
        return is_true == (literal > 0)

    def state(self, index: int) -> dict[int, bool]:
        """Value of each register, by variable, in a frame of the last trace found."""
        frame = self._frames[index]
        return {variable: self.value(frame[variable]) for variable, _ in self.graph.latches}


def _literal(frame, literal):
    value = frame[literal >> 1]
    return -value if literal & 1 else value
