"""Whether a mutant is a fault at all: proofs that nobody at the ports can tell it from the unit.

Unit and mutant stand side by side as one and-inverter graph. Both begin in the same state, which
is any whatever, and with a cycle of reset; they see the same inputs. What must be equal in every
cycle from then on: each ``tready`` and ``tvalid``, and the payload under ``tvalid``. Of the inputs
nothing is assumed but the rules of the stream: what is offered stays until it is taken, and
``tkeep`` of a packet's last beat is contiguous.

One state to begin with for both is enough: what holds of the unit holds from whatever state it is
reset in.

Three ways, from the cheapest on:

- The shape of the graph shows that the fault reaches no output.
- A step of the mutant is a step of the unit, from every state that the unit reaches, but for
  registers that do not matter then (:mod:`cdma.sim.mutate_relation`); they may hold anything.
- Both run side by side.

For the last two ABC, a part of Yosys, merges signals that are equal in all reachable states (van
Eijk, 2000) and then tries property-directed reachability (Een, Mishchenko, Brayton, 2011).
"""

import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from cdma.sim import aiger
from cdma.sim.mutate_graph import Logic, Side, choice, outputs_differ
from cdma.sim.mutate_relation import matters
from cdma.synth import tools
from cdma.synth.mutants import Mutant, Mutated

#: Nobody can tell the mutant from the unit: proven.
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
pdr -T {seconds}
write_status status
read_blif gate.blif
"""
_BLIF = ".model netlist\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n"


def graph(rtlil: str, scratch: Path) -> aiger.Graph:
    """And-inverter graph of a unit with its mutants; registers begin with any value.

    Its outputs are the ports; ``registers`` has those of counters by their names.
    """
    script = _GRAPH.format(exposed=_EXPOSED)
    inputs = {"mutated.il": rtlil, "graph.ys": script}
    made = tools.execute(tools.yosys(), ["graph.ys"], inputs, ["graph.aag"], scratch)
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
        self.graph = graph(mutated.rtlil, scratch)
        self._scratch = scratch

    @cached_property
    def _matters(self):
        return matters(self.graph)

    def same_graph(self, mutant: Mutant) -> str:
        """:data:`EQUIVALENT`, when the graph's shape shows it."""
        _, bad = self._beside(mutant)
        return "undecided" if bad else EQUIVALENT

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
        known = self._decide(logic.blif(logic.either(seen, steps)), seconds)
        return EQUIVALENT if known == EQUIVALENT else "undecided"

    def same_runs(self, mutant: Mutant, seconds: int) -> str:
        """:data:`EQUIVALENT`, when that is proven in that time, or what else is known."""
        side, bad = self._beside(mutant)
        return self._decide(side.logic.blif(bad), seconds)

    def _beside(self, mutant):
        """Unit and mutant, and that they differ at the ports."""
        side = Side(self.graph)
        logic = side.logic
        # Registers that the fault does not reach, however long, are the same in both.
        reached = {}
        while True:
            state = side.state | side.begun(reached)
            following, outputs = side.mutant(mutant.number, state)
            more = {
                variable: logic.latch()
                for variable, literal in side.following.items()
                if variable not in reached and literal != following[variable]
            }
            if not more:
                break
            reached |= more
        for variable, literal in reached.items():
            logic.latches[literal] = following[variable]
        return side, logic.both(side.counts, outputs_differ(logic, side.outputs, outputs))

    def _decide(self, blif, seconds):
        script = _DECIDE.format(seconds=seconds)
        inputs = {"gate.il": _GATE, "gate.blif": _BLIF, "group.blif": blif, "decide.abc": script}
        arguments = ["-p", "read_rtlil gate.il; abc -script decide.abc"]
        outputs = ["left.blif", "status"]
        made = tools.execute(tools.yosys(), arguments, inputs, outputs, self._scratch)
        verdict, *_, cycle = made["status"].splitlines()[0].split()
        if verdict == "snl_SAT":
            return f"differs, for one {cycle} cycles after reset"
        is_low = re.search(r"^\.names bad\n 0$", made["left.blif"], re.MULTILINE)
        return EQUIVALENT if is_low or verdict == "snl_UNSAT" else "undecided"
