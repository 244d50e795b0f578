"""Proofs that a mutant is equivalent to the unit, so that it is no fault.

Unit and mutant are combined in one and-inverter graph, a miter. Both start in the same arbitrary
state, with a cycle of reset, and get the same inputs. In every later cycle, each ``tready`` and
``tvalid`` must be equal, and the payload if ``tvalid`` is high. The only assumptions are the stream
rules: an offered beat is held until it is accepted, and ``tkeep`` of the last beat of a packet is
contiguous.

One common initial state is enough, because the properties of the unit hold for a reset in any
state.

There are three methods, the cheapest first:

- The structure of the graph shows that the fault reaches no output.
- A step of the mutant equals a step of the unit, from every reachable state, except in don't-care
  registers (:mod:`cdma.verify.mutation.relation`), which may have any value.
- Unit and mutant run in parallel. Only registers that can diverge are duplicated in the miter; the
  proof includes that all others are equal. Random runs (:mod:`cdma.verify.mutation.walks`) find
  these registers. If they missed some, the counterexamples of the proof find the rest.

In the last two methods, ABC, a part of Yosys, merges signals that are equal in all reachable states
(van Eijk, 2000) and then uses property-directed reachability (Een, Mishchenko, Brayton, 2011).
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

#: Verdict: the outputs of mutant and unit are proven equal.
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
#: Registers inside the unit that become outputs, so that they keep their names.
_EXPOSED = " ".join(f"w:core.*.{name}" for name in ("part*", "is_*", "first", "words", "block_*"))


def graph(rtlil: str, scratch: Path) -> aiger.Graph:
    """And-inverter graph of a unit with its mutants. Registers start with any value.

    The outputs are the ports. ``registers`` has the registers of counters by name.
    """
    script = _GRAPH.format(exposed=_EXPOSED)
    inputs = {"mutated.il": rtlil, "graph.ys": script}
    made = tool.execute(yowasp.yosys(), ["graph.ys"], inputs, ["graph.aag"], scratch)
    whole = aiger.parse(made["graph.aag"])
    # A fault at the output of a register hides the register behind the fault logic.
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
    """Tries to prove mutants of a unit equivalent. Threads may share one object.

    Parameters
    ----------
    graph : Graph
        The unit with its mutants, see :func:`graph`.
    scratch : Path
        Existing folder for the temporary files of Yosys.
    in_reset : bool
        Compare the outputs in the cycle of reset too, as those that others take in any cycle.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """

    def __init__(self, graph: aiger.Graph, scratch: Path, *, in_reset: bool = False):
        self.graph = graph
        self._scratch = scratch
        self._in_reset = in_reset

    @cached_property
    def _matters(self):
        return matters(self.graph)

    @cached_property
    def _runs(self):
        return RandomRuns(self.graph)

    def same_graph(self, mutant: Mutant) -> str:
        """:data:`EQUIVALENT` if the structure of the graph shows it, else empty."""
        apart = set()
        while True:
            _, seen, reached = self._beside(mutant, apart)
            if not reached:
                return "undecided" if seen else EQUIVALENT
            apart |= reached.keys()

    def same_steps(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT` if each step is proven equal. A differing step proves no fault."""
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
        # Register differences also count in the cycle of reset.
        steps = logic.both(elsewhere, logic.either(side.counts, side.began ^ 1))
        known, _ = self._decide(logic.blif(logic.either(seen, steps)), seconds)
        return known

    def same_runs(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT` if proven within the time, else a text on what is known."""
        apart, end = self._runs.apart(mutant.number), time.monotonic() + seconds
        while True:
            side, seen, reached = self._beside(mutant, apart)
            logic = side.logic
            elsewhere = 0
            for different in reached.values():
                elsewhere = logic.either(elsewhere, different)
            # Register differences also count in the cycle of reset.
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
        """Miter of unit and mutant, in which the registers ``apart`` may diverge. Also returns
        whether the ports differ, and for each other register in the fault's reach, whether it
        diverges."""
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
        counts = logic.either(side.counts, side.began ^ 1) if self._in_reset else side.counts
        seen = logic.both(counts, outputs_differ(logic, side.outputs, outputs))
        return side, seen, reached

    def _differ(self, mutant, side, trace):
        """Registers in which the mutant diverges from the unit in a trace."""
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
        """Verdict about a graph, and the counterexample: inputs of each cycle until its output is
        high."""
        found = abc.decide(blif, seconds, self._scratch)
        known = EQUIVALENT if found.is_proven else "undecided"
        return known, found.trace
