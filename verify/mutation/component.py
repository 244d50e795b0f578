"""Insert a mutant of a unit into the proof of its component.

The design of a proof contains the component and drives it with all inputs that its neighbours may
give. It has the same cells as the component in the unit, but with other names. So the fault is
inserted into the cell with the same kind, parameters and source place. If several cells match,
their order decides.
"""

import re

from cdma.verify.mutation.mutants import Drawn, Mutant, cells, module_of


class Component:
    """A component of a unit, in the design of a proof.

    Parameters
    ----------
    drawn : Drawn
        The unit and its mutants.
    path : str
        Path of the component in the unit, such as ``core.reader``.
    flat : str
        The design, from :func:`cdma.verify.formal.netlist.flat`.
    dut : str
        Path of the component in the design.
    """

    def __init__(self, drawn: Drawn, path: str, flat: str, dut: str = "bench.dut"):
        self._in_unit = _cells(drawn.rtlil, path)
        self._alone = _cells(flat, dut)

    def command(self, mutant: Mutant) -> str | None:
        """Yosys command that inserts the mutant, for :func:`cdma.verify.formal.prover.prove`.
        ``None`` if the cells differ, because Yosys simplified them in the design."""
        name = re.search(r"-cell (\S+)", mutant.command)[1]
        (alike,) = (alike for alike, names in self._in_unit.items() if name in names)
        here, there = self._in_unit[alike], self._alone.get(alike, [])
        if len(here) != len(there):
            return None
        found = there[here.index(name)]
        command = re.sub(r"-module \S+", "-module top", mutant.command)
        return "mutate " + command.replace(f"-cell {name} ", f"-cell {found} ")


def _cells(text, path):
    """Names of the cells in a component and its subcomponents, by module path, kind, source place
    and parameters."""
    names = {}
    for cell in cells(text):
        module = module_of(cell.name)
        if module == path or module.startswith(f"{path}."):
            # The name of a memory contains its path, which differs between unit and design.
            parameters = [each for each in cell.parameters if each[0] != "\\MEMID"]
            alike = (module[len(path) :], cell.kind, cell.src, tuple(parameters))
            names.setdefault(alike, []).append(cell.name)
    return names
