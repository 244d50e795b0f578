"""Survivors of the engine that make no difference to the part that they are in.

A part is the cells of a component, with those of its components. Its ports are the nets that
connect these cells with the others; memories are others, but for small ones, which are registers
here: what is written to them may differ where nothing reads that. With and without the fault, a
part starts in the same state, any one, with a cycle of reset, and gets the same inputs, any ones.
When all outputs are proven equal in all cycles, from that of the reset on, then so is all that the
engine does: the fault is none. As in a trial, the fields of an AXI channel of the engine count only
while its VALID is high. What only inputs rule out that the part never gets is not found there, but
perhaps in the part around it.

A fault in the value of a register after reset may show at an output that nobody looks at yet, such
as a payload while its VALID is low. So the cells of those modules that read the register join the
part.

Before a reset, a part may also be in a state that it never has later. There a fault may show in the
cycle of the reset, and other components may keep what they saw. This is no fault when the part
without it shows the same from another state: then the engine does what it does after another
power-up, and all of its promises hold from any state.
"""

import re
from functools import cached_property, reduce
from pathlib import Path

from cdma.toolchain import tool, yowasp
from cdma.verify.formal import aiger
from cdma.verify.formal.logic import Logic, is_true, signed
from cdma.verify.mutation.component import is_in
from cdma.verify.mutation.graph import choice
from cdma.verify.mutation.mutants import CHOICE, Drawn, Mutant, cells, module_of
from cdma.verify.mutation.proof import EQUIVALENT, Judge

#: Levels of components around a mutant that are tried, and most bits of registers of a part: with
#: more, a proof takes minutes.
_LEVELS, _MOST = 2, 1000
#: Most bits of a memory that is in the part.
_MEMORY = 128
#: Changes of the state before a reset that are tried.
_CHANGES = 8
#: Time limit of ABC for each part, in seconds.
_SECONDS = 30
#: A field of a channel among the outputs: width, number of the port, name, and name of its VALID
#: without this word.
_FIELD = re.compile(
    r"^  wire (?:width (\d+) )?output (\d+) (\\((?:\w+_)(?:aw|ar|w|r|b))(?!valid|ready)\w+)$",
    re.MULTILINE,
)
#: The field as an output, 0 while VALID is low.
_MASKED = r"""
  wire width {width} output {number} {masked}
  cell $mux {masked}.mux
    parameter \WIDTH {width}
    connect \A {width}'{zeros}
    connect \B {field}
    connect \S {valid}
    connect \Y {masked}
  end
"""
_SCRIPT = """
read_rtlil flat.il
# Of a signal, only the bits that others read are outputs.
splitnets
submod -name part {cells}
delete {top}
cd part
{mutations}
memory_map
setattr -unset init w:*
opt -full -keepdc
techmap
opt -full -keepdc
dffunmap
setundef -undriven -anyseq
aigmap
opt_clean
write_aiger -ascii -symbols part.aag
"""


def unchanged(drawn: Drawn, mutant: Mutant, scratch: Path) -> str | None:
    """Path of the part whose outputs a mutant is proven not to change; ``None`` without a proof.

    Parameters
    ----------
    drawn : Drawn
        The netlist.
    mutant : Mutant
    scratch : Path
        Existing folder for the temporary files of Yosys.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    for path in parts_of(mutant):
        part = Part(drawn, path, [mutant], scratch)
        if part.bits > _MOST or not part.has(mutant):
            break
        if part.is_unchanged(mutant, _SECONDS):
            return path
    path, readers = mutant.module, readers_of(drawn, mutant)
    if not readers:
        return None
    part = Part(drawn, path, [mutant], scratch, readers)
    if part.bits <= _MOST and part.is_unchanged(mutant, _SECONDS):
        return f"{path} and its readers"
    return None


def parts_of(mutant: Mutant) -> list[str]:
    """Paths of the component that a mutant is in, and of that around it."""
    names = mutant.module.split(".")
    return [".".join(names[:end]) for end in range(len(names), 0, -1)][:_LEVELS]


def readers_of(drawn: Drawn, mutant: Mutant) -> frozenset[str]:
    """Paths of the other modules that read the register whose value after reset a mutant changes.
    Empty for other mutants, and where a memory reads the register."""
    found = {each.name: each for each in cells(drawn.rtlil)}
    fault = found[re.search(r"-cell (\S+)", mutant.command)[1]]
    if mutant.port != "A" or dict(fault.pins).get("S") != "\\aresetn":
        return frozenset()
    following = _nets(fault, "Y")
    registers = [each for each in found.values() if "dff" in each.kind]
    values = {net for each in registers if following & _nets(each, "D") for net in _nets(each, "Q")}
    reads = [
        each
        for each in found.values()
        if any(values & _nets(each, pin) for pin, _ in each.pins if pin not in ("Q", "Y"))
    ]
    if any(each.kind == "mem_v2" for each in reads):
        return frozenset()
    return frozenset(
        module_of(each.name) for each in reads if not is_in(module_of(each.name), mutant.module)
    )


def _nets(cell, pin):
    """Names of the nets at a pin, without their bits."""
    return set(re.findall(r"[\\$]\S+", dict(cell.pins).get(pin, "")))


class Part:
    """A component in the netlist of an engine, with mutants.

    Parameters
    ----------
    drawn : Drawn
        The netlist.
    path : str
        Path of the component.
    mutants : list of Mutant
        Mutants inside it.
    scratch : Path
        Existing folder for the temporary files of Yosys.
    others : frozenset of str
        Paths of modules whose own cells are in the part, too.
    """

    def __init__(
        self,
        drawn: Drawn,
        path: str,
        mutants: list[Mutant],
        scratch: Path,
        others: frozenset[str] = frozenset(),
    ):
        self.path, self.mutants = path, mutants
        self._drawn, self._scratch, self._others = drawn, scratch, others

    def is_unchanged(self, mutant: Mutant, seconds: int) -> bool:
        """Whether a mutant is proven to change no output, within the time."""
        return any(
            judge.same_runs(mutant, seconds) == EQUIVALENT
            and (has_reset or begins_alike(self.graph, mutant.number))
            for has_reset, judge in self._judges.items()
        )

    @cached_property
    def _judges(self):
        """Of all cycles, and of those behind the reset."""
        return {
            has_reset: Judge(self.graph, self._scratch, in_reset=has_reset)
            for has_reset in (True, False)
        }

    @cached_property
    def bits(self) -> int:
        """Bits of its registers and memories."""
        registers = sum(each.bits("Q") for each in self._cells if "dff" in each.kind)
        return registers + sum(map(_memory_bits, self._cells))

    def has(self, mutant: Mutant) -> bool:
        """Whether the cell of a mutant is in the part: a large memory is not."""
        return any(f"-cell {each.name} " in mutant.command for each in self._cells)

    @cached_property
    def graph(self) -> aiger.Graph:
        """And-inverter graph of the part."""
        text, masks = _masked(self._drawn.rtlil)
        names = " ".join(f"c:{each}" for each in [*(each.name for each in self._cells), *masks])
        (top,) = re.findall(r"^module (\S+)$", text, re.MULTILINE)
        bits = max(each.number for each in self.mutants).bit_length()
        mutations = [
            f"mutate -ctrl {CHOICE} {bits} {each.number} "
            + re.sub(r"-module \S+", "-module part", each.command)
            for each in self.mutants
        ]
        script = _SCRIPT.format(cells=names, top=top.lstrip("\\"), mutations="\n".join(mutations))
        inputs = {"flat.il": text, "part.ys": script}
        made = tool.execute(yowasp.yosys(), ["part.ys"], inputs, ["part.aag"], self._scratch)
        return aiger.parse(made["part.aag"])

    @cached_property
    def _cells(self):
        return [
            each
            for each in cells(self._drawn.rtlil)
            if self._has(module_of(each.name)) and _memory_bits(each) <= _MEMORY
        ]

    def _has(self, module):
        return is_in(module, self.path) or module in self._others


def begins_alike(graph: aiger.Graph, number: int) -> bool:
    """Whether the cycle of reset is proven alike: the next state is that without the fault, and for
    each state of a mutant and all inputs there is a state of the part without the fault with the
    same outputs and the same next state.

    Parameters
    ----------
    graph : aiger.Graph
        The part, with its mutants.
    number : int
        Of the mutant.
    """
    return _Begin(graph, number).run()


class _Begin:
    def __init__(self, graph, number):
        self._graph, self._logic = graph, Logic()
        new = self._logic.input
        self._inputs = {name: new() for name in graph.inputs} | {"aclk": 0, "aresetn": 0}
        self._state = {variable: new() for variable, _ in graph.latches}
        self._other = {variable: new() for variable, _ in graph.latches}
        self._mutant = self._step(number, self._state)
        self._apart = {
            variable: self._logic.differ(self._other[variable], literal)
            for variable, literal in self._state.items()
        }
        self._from_other = self._differs(self._other)
        self._moves = self._differs(self._state, outputs=False)

    def run(self):
        """Each counterexample gives values of some registers that are tried in all states."""
        if self._solve(self._moves) is not None:
            return False
        unlike = self._differs(self._state)
        for _ in range(_CHANGES):
            found = self._solve(unlike)
            if found is None:
                return True
            change = self._change(found)
            if change is None:
                return False
            unlike = self._logic.both(unlike, self._differs(self._state | change))
        return False

    def _step(self, number, state):
        return self._logic.evaluate(self._graph, self._inputs | choice(self._graph, number), state)

    def _differs(self, state, outputs=True):
        """Literal: the part without the fault differs from the mutant, from this state: its next
        state, or its outputs."""
        logic = self._logic
        pairs = list(zip(self._step(0, state), self._mutant, strict=True))[: 1 + outputs]
        differ = [logic.differ(mine[key], each[key]) for mine, each in pairs for key in mine]
        return reduce(logic.either, differ, 0)

    def _change(self, found):
        """The least change of the state with which the part does the same, for a counterexample."""
        given = [*self._inputs.values(), *self._state.values()]
        holds = [literal ^ 1 ^ is_true(found, literal) for literal in given if literal > 1]
        holds.append(self._from_other ^ 1)
        changed = []
        with self._logic.solver() as solver:
            if _model(solver, holds) is None:
                return None
            for variable, apart in self._apart.items():
                if _model(solver, [*holds, apart ^ 1]) is None:
                    changed.append(variable)
                else:
                    holds.append(apart ^ 1)
            other = _model(solver, holds)
        return {variable: int(is_true(other, self._other[variable])) for variable in changed}

    def _solve(self, literal):
        with self._logic.solver() as solver:
            return _model(solver, [literal])


def _memory_bits(cell):
    """Bits of a memory, 0 of any other cell."""
    known = dict(cell.parameters)
    return int(known["\\WIDTH"]) * int(known["\\SIZE"]) if cell.kind == "mem_v2" else 0


def _model(solver, literals):
    """A model in which all literals are true, or ``None``."""
    is_found = solver.solve(assumptions=[signed(literal) for literal in literals])
    return solver.get_model() if is_found else None


def _masked(text):
    """Netlist with the fields of channels masked by VALID, and the names of the cells for that."""
    added, names = [], []

    def inside(field):
        width, number, name, channel = field.groups(default="1")
        valid = f"\\{channel}valid"
        if not re.search(rf" output \d+ {re.escape(valid)}$", text, re.MULTILINE):
            return field[0]
        masked = f"\\masked.{name[1:]}"
        names.append(f"masked.{name[1:]}.mux")
        added.append(
            _MASKED.format(
                width=width,
                number=number,
                masked=masked,
                zeros="0" * int(width),
                field=name,
                valid=valid,
            )
        )
        return f"  wire width {width} {name}"

    text = _FIELD.sub(inside, text)
    body, end, rest = text.rpartition("end\n")
    return "".join([body, *(each.strip("\n") + "\n" for each in added), end, rest]), names
