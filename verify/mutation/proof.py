"""Whether a mutant is a fault at all: proofs that its outputs equal those of the unit.

Unit and mutant are combined in one and-inverter graph, a miter. Both begin in the same arbitrary
state, with a cycle of reset, and get the same inputs. In every later cycle each ``tready`` and
``tvalid`` must be equal, and the payload under ``tvalid``. The inputs only obey the rules of the
stream: a beat that is offered is held until it is accepted, and ``tkeep`` of a packet's last beat
is contiguous.

One common initial state is enough: a property of the unit holds from any state in which it is
reset.

There are three ways, the cheapest first:

- The structure of the graph shows that the fault reaches no output.
- A step of the mutant equals a step of the unit, from every reachable state, except in don't-care
  registers (:mod:`cdma.verify.mutation.relation`), which may have any value.
- Both run side by side. Only registers that can diverge are duplicated in the miter; the proof
  includes that all others are equal. Random runs find these registers
  (:mod:`cdma.verify.mutation.walks`), and then the counterexamples of a proof that has too few.

For the last two ABC, a part of Yosys, merges signals that are equal in all reachable states (van
Eijk, 2000) and then tries property-directed reachability (Een, Mishchenko, Brayton, 2011).
"""

import time
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from cdma.toolchain import abc, tool, yowasp
from cdma.verify.formal import aiger
from cdma.verify.formal.logic import Logic
from cdma.verify.mutation.graph import Side, choice, outputs_differ
from cdma.verify.mutation.mutants import Mutant
from cdma.verify.mutation.relation import matters
from cdma.verify.mutation.walks import RandomRuns

#: Proven: the outputs of mutant and unit are equal.
EQUIVALENT = "equivalent"

_GRAPH = """
read_rtlil mutated.il
proc
setattr -unset init w:*
memory_map
expose {exposed}
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
#: Registers inside the unit that are seen by their names, as outputs.
_EXPOSED = " ".join(f"w:core.*.{name}" for name in ("part*", "is_*", "first", "words", "block_*"))


def graph(rtlil: str, scratch: Path) -> aiger.Graph:
    """And-inverter graph of a unit with its mutants; registers begin with any value.

    Its outputs are the ports; ``registers`` has those of counters by their names.
    """
    script = _GRAPH.format(exposed=_EXPOSED)
    inputs = {"mutated.il": rtlil, "graph.ys": script}
    made = tool.execute(yowasp.yosys(), ["graph.ys"], inputs, ["graph.aag"], scratch)
    whole = aiger.parse(made["graph.aag"])
    # A fault at a register's output stands between it and its name.
    logic = Logic()
    state = {variable: logic.input() for variable, _ in whole.latches}
    given = {name: logic.input() for name in whole.inputs} | choice(whole, 0)
    _, outputs = logic.evaluate(whole, given, state)
    variables = {literal: variable for variable, literal in state.items()}
    registers = {
        name: variables[literal] for name, literal in outputs.items() if literal in variables
    }
    ports = [name for name in whole.outputs if "." not in name]
    return replace(
        whole,
        outputs={name: whole.outputs[name] for name in ports},
        registers=registers,
    )


class Judge:
    """Decides about the mutants of a unit; threads may share it.

    Parameters
    ----------
    graph : Graph
        The unit with its mutants, see :func:`graph`.
    scratch : Path
        Existing folder for Yosys to work in.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """

    def __init__(self, graph: aiger.Graph, scratch: Path):
        self.graph = graph
        self._scratch = scratch

    @cached_property
    def _matters(self):
        return matters(self.graph)

    @cached_property
    def _runs(self):
        return RandomRuns(self.graph)

    def same_graph(self, mutant: Mutant) -> str:
        """:data:`EQUIVALENT`, when the graph's shape shows it."""
        apart = set()
        while True:
            _, seen, reached = self._beside(mutant, apart)
            if not reached:
                return "undecided" if seen else EQUIVALENT
            apart |= reached.keys()

    def same_steps(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT`, when each step is the unit's; no fault is known if one is not."""
        conditions = self._matters

        def counting(logic, registers, variable):
            return logic.all(
                registers[condition >> 1] ^ condition & 1 for condition in conditions[variable]
            )

        def free(logic, registers):
            return {
                variable: logic.choose(
                    counting(logic, registers, variable), register, logic.input()
                )
                if variable in conditions
                else register
                for variable, register in registers.items()
            }

        side = Side(self.graph, free)
        logic = side.logic
        following, outputs = side.mutant(mutant.number, side.state)
        elsewhere = 0
        for variable, literal in side.following.items():
            different = logic.differ(literal, following[variable])
            if different and variable in conditions:
                different = logic.both(different, counting(logic, side.following, variable))
            elsewhere = logic.either(elsewhere, different)
        seen = logic.both(side.counts, outputs_differ(logic, side.outputs, outputs))
        # A step counts in reset too.
        steps = logic.both(elsewhere, logic.either(side.counts, side.began ^ 1))
        known, _ = self._decide(logic.blif(logic.either(seen, steps)), seconds)
        return known

    def same_runs(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT`, when that is proven in that time, or what else is known."""
        apart, end = self._runs.apart(mutant.number), time.monotonic() + seconds
        while True:
            side, seen, reached = self._beside(mutant, apart)
            logic = side.logic
            elsewhere = 0
            for different in reached.values():
                elsewhere = logic.either(elsewhere, different)
            # A step counts in reset too.
            steps = logic.both(elsewhere, logic.either(side.counts, side.began ^ 1))
            left = max(1, round(end - time.monotonic()))
            known, trace = self._decide(logic.blif(logic.either(seen, steps)), left)
            if not trace:
                return known
            more = self._differ(mutant, side, trace) - apart
            if not more:
                return f"differs, for one {len(trace) - 1} cycles after reset"
            apart |= more

    def _beside(self, mutant, apart):
        """Unit and mutant side by side, which may differ in the registers ``apart``; that the ports
        tell them; and of other registers that the fault reaches whether they come to differ."""
        side = Side(self.graph)
        logic = side.logic
        differ = {variable: logic.latch() for variable in apart}
        state = {
            variable: logic.differ(side.state[variable], logic.both(side.began, differs))
            for variable, differs in differ.items()
        }
        following, outputs = side.mutant(mutant.number, side.state | state)
        reached = {
            variable: logic.differ(literal, following[variable])
            for variable, literal in side.following.items()
            if literal != following[variable]
        }
        for variable, literal in differ.items():
            logic.latches[literal] = reached.pop(variable, 0)
        seen = logic.both(side.counts, outputs_differ(logic, side.outputs, outputs))
        return side, seen, reached

    def _differ(self, mutant, side, trace):
        """Registers in which the mutant comes to differ in a run of the inputs of a graph."""
        places = {literal: place for place, literal in enumerate(side.logic.inputs)}
        unit = other = {
            variable: trace[0][places[literal]] for variable, literal in side.firsts.items()
        }
        found = set()
        for cycle, values in enumerate(trace):
            inputs = {
                name: values[places[literal]] if literal in places else 0
                for name, literal in side.inputs.items()
            }
            inputs["aresetn"] = int(cycle > 0)
            unit = self._step(unit, inputs | choice(self.graph, 0))
            other = self._step(other, inputs | choice(self.graph, mutant.number))
            found |= {variable for variable, bit in unit.items() if bit != other[variable]}
        return found

    def _step(self, state, inputs):
        values = self.graph.evaluate(state, inputs)
        return {variable: aiger.value(values, literal) for variable, literal in self.graph.latches}

    def _decide(self, blif, seconds):
        """What is known of a graph, and the inputs of each cycle up to where its output is high."""
        found = abc.decide(blif, seconds, self._scratch)
        known = EQUIVALENT if found.is_proven else "undecided"
        return known, found.trace
