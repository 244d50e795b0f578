"""A unit's mutant in the proof of its component.

The design of a proof contains the component and drives it with all inputs that its neighbours may
give. It has the cells of the component in the unit, with other names. So the fault is put into the
cell of the same kind, with the same parameters, from the same place of the sources, and with the
same position among those that have all this in common.
"""

import re

from cdma.verify.mutation.mutants import Drawn, Mutant, cells, module_of


class Component:
    """A component of a unit, alone in a design.

    Parameters
    ----------
    drawn : Drawn
        The unit and its mutants.
    path : str
        Where the component is in the unit, such as ``core.reader``.
    flat : str
        The design, as :func:`cdma.verify.formal.netlist.flat` gives it.
    dut : str
        Where it is there.
    """

    def __init__(self, drawn: Drawn, path: str, flat: str, dut: str = "bench.dut"):
        self._in_unit = _cells(drawn.rtlil, path)
        self._alone = _cells(flat, dut)

    def command(self, mutant: Mutant) -> str | None:
        """What puts the unit's mutant into the design, for :func:`cdma.verify.formal.prover.prove`;
        ``None`` where the design has not the same cells, as its surroundings made them simpler."""
        name = re.search(r"-cell (\S+)", mutant.command)[1]
        (alike,) = (alike for alike, names in self._in_unit.items() if name in names)
        here, there = self._in_unit[alike], self._alone.get(alike, [])
        if len(here) != len(there):
            return None
        found = there[here.index(name)]
        command = re.sub(r"-module \S+", "-module top", mutant.command)
        return "mutate " + command.replace(f"-cell {name} ", f"-cell {found} ")


def _cells(text, path):
    """Names of those of a component and of what is in it, by all that tells them apart but their
    order: the module from there on, kind, place and parameters."""
    names = {}
    for cell in cells(text):
        module = module_of(cell.name)
        if module == path or module.startswith(f"{path}."):
            # A memory's parameter that names it says where it is.
            parameters = [each for each in cell.parameters if each[0] != "\\MEMID"]
            alike = (module[len(path) :], cell.kind, cell.src, tuple(parameters))
            names.setdefault(alike, []).append(cell.name)
    return names
