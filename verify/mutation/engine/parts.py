"""Survivors of the engine that make no difference to the part that they are in.

A part is the cells of a component, with those of its components. Its ports are the nets that
connect these cells with the others; memories are others. With and without the fault, a part starts
in the same state, any one, with a cycle of reset, and gets the same inputs, any ones. When all
outputs are proven equal in all cycles, from that of the reset on, then so is all that the engine
does: the fault is none. What only inputs rule out that the part never gets is not found there, but
perhaps in the part around it.
"""

import re
from functools import cached_property
from pathlib import Path

from cdma.toolchain import tool, yowasp
from cdma.verify.formal import aiger
from cdma.verify.mutation.component import is_in
from cdma.verify.mutation.mutants import CHOICE, Drawn, Mutant, cells, module_of
from cdma.verify.mutation.proof import EQUIVALENT, Judge

#: Levels of components around a mutant that are tried, and most bits of registers of a part: with
#: more, a proof takes minutes.
_LEVELS, _MOST = 2, 1000
#: Time limit of ABC for each part, in seconds.
_SECONDS = 30
_SCRIPT = """
read_rtlil flat.il
submod -name part {cells}
delete {top}
cd part
{mutations}
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
    if mutant.cell == "mem_v2":
        return None
    for path in parts_of(mutant):
        part = Part(drawn, path, [mutant], scratch)
        if part.bits > _MOST:
            break
        if part.is_unchanged(mutant, _SECONDS):
            return path
    return None


def parts_of(mutant: Mutant) -> list[str]:
    """Paths of the component that a mutant is in, and of that around it."""
    names = mutant.module.split(".")
    return [".".join(names[:end]) for end in range(len(names), 0, -1)][:_LEVELS]


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
    """

    def __init__(self, drawn: Drawn, path: str, mutants: list[Mutant], scratch: Path):
        self.path, self.mutants = path, mutants
        self._drawn, self._scratch = drawn, scratch

    def is_unchanged(self, mutant: Mutant, seconds: int) -> bool:
        """Whether a mutant is proven to change no output, within the time."""
        return self._judge.same_runs(mutant, seconds) == EQUIVALENT

    @cached_property
    def _judge(self):
        return Judge(self.graph, self._scratch, in_reset=True)

    @cached_property
    def bits(self) -> int:
        """Bits of its registers."""
        return sum(each.bits("Q") for each in self._cells if "dff" in each.kind)

    @cached_property
    def graph(self) -> aiger.Graph:
        """And-inverter graph of the part."""
        text = self._drawn.rtlil
        names = " ".join(f"c:{each.name}" for each in self._cells)
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
            if is_in(module_of(each.name), self.path) and each.kind != "mem_v2"
        ]
