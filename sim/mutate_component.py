"""A unit's mutant in the proof of the component that it is in.

A proof is about a design of its own, which holds the component and drives it with whatever its
neighbours may. It has the cells that the component has in the unit, by other names. So the fault is
put into the cell of the same kind, with the same parameters, from the same place of the sources,
the same one of those that have all this in common.
"""

import re
from dataclasses import dataclass

from cdma.synth.mutants import Drawn, Mutant, module_of

_CELL = re.compile(
    r"^((?:  attribute .*\n)*)  cell \$(\w+) (\S+)\n((?:    .*\n)*)  end$", re.MULTILINE
)


@dataclass(frozen=True)
class _Cell:
    """``alike`` is the same for cells that one cannot tell apart but by their order."""

    name: str
    module: str
    alike: tuple


class Component:
    """A component of a unit, alone in a design.

    Parameters
    ----------
    drawn : Drawn
        The unit and its mutants.
    path : str
        Where the component is in the unit, such as ``core.reader``.
    flat : str
        The design, as :func:`cdma.sim.formal.flat` gives it.
    dut : str
        Where it is there.
    """

    def __init__(self, drawn: Drawn, path: str, flat: str, dut: str = "bench.dut"):
        self.path = path
        self._in_unit = _cells(drawn.rtlil, path)
        self._alone = _cells(flat, dut)

    def command(self, mutant: Mutant) -> str | None:
        """What puts the unit's mutant into the design, as :func:`cdma.sim.formal.prove` wants it;
        ``None`` where the design has not the same cells, as its surroundings made them simpler."""
        name = re.search(r"-cell (\S+)", mutant.command)[1]
        (cell,) = (cell for cell in self._in_unit if cell.name == name)
        here, there = (
            [each for each in cells if (each.module, each.alike) == (cell.module, cell.alike)]
            for cells in (self._in_unit, self._alone)
        )
        if len(here) != len(there):
            return None
        found = there[here.index(cell)].name
        command = re.sub(r"-module \S+", "-module top", mutant.command)
        return "mutate " + command.replace(f"-cell {name} ", f"-cell {found} ")


def _cells(text, path):
    """Those of a component and of what is in it, their modules from there on."""
    cells = []
    for attributes, kind, name, body in _CELL.findall(text):
        name = name.removeprefix("\\")
        module = module_of(name)
        if module == path or module.startswith(f"{path}."):
            place = re.search(r'attribute \\src "([^"]*)"', attributes)
            parameters = re.findall(r"parameter (?:signed )?(\S+) (\S+)", body)
            parameters = [each for each in parameters if each[0] != "\\MEMID"]  # names its place
            alike = (kind, place and place[1], tuple(sorted(parameters)))
            cells.append(_Cell(name, module[len(path) :], alike))
    return cells
