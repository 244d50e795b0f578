"""Insert a mutant of a unit into the proof of its component.

The design of a proof contains the component and drives it with all inputs that its neighbours may
give. It has the same cells as the component in the unit, but with other names and in another order.
"""

import re

from cdma.verify.mutation.mutants import Drawn, Mutant, cells, module_of

#: Number behind a name.
_NUMBER = re.compile(r"\$\d+(?=\.|$)")
#: Number of a cell, and that of one of several which Yosys made of one.
_CELL = re.compile(r"\$(\d+)(?:_[A-Z]*(\d*))?$")
#: Clocks and resets of a unit, whose reset is low when it is active, and of a proof.
_CLOCKS, _RESETS = ("\\aclk", "\\clk"), ("\\aresetn", "\\rst")
#: The other level of a fault, and the other input of a multiplexer.
_LEVELS, _INPUTS = {"const0": "const1", "const1": "const0"}, {"A": "B", "B": "A"}


class Component:
    """A component of a unit, in the design of a proof.

    A cell is found again by its kind, parameters and source place. If several cells match, those
    whose nets have the same names do; then the order decides in which Amaranth wrote them, which is
    that of the numbers in their names. A netlist has them in any order.

    Where Yosys simplified some of these cells in one of both netlists, the cell with the same
    number is the same, if Amaranth numbered the whole module alike: each number that is in both
    belongs to cells of the same kind and source place.

    The reset of a unit is low when it is active, and that of a proof is high: behind the
    multiplexer of a reset, a fault is at the other input.

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

    #: Whether the parameters of a cell may differ, such as its width.
    is_resized = False

    def __init__(self, drawn: Drawn, path: str, flat: str, dut: str = "bench.dut"):
        here, there = cells(drawn.rtlil), cells(flat)
        self._in_unit = _alike(here, path, self.is_resized)
        self._alone = _alike(there, dut, self.is_resized)
        self._pins = {cell.name: cell for cell in (*here, *there)}

    def command(self, mutant: Mutant) -> str | None:
        """Yosys command that inserts the mutant, for :func:`cdma.verify.formal.prover.prove`.
        ``None`` if the cells differ, because Yosys simplified them in the design."""
        name, found = self._cell(mutant)
        if found is None:
            return None
        command = re.sub(r"-module \S+", "-module top", mutant.command)
        if all(_is_reset(self._pins[each]) for each in (name, found)):
            command = _turned(command)
        return "mutate " + command.replace(f"-cell {name} ", f"-cell {found} ")

    def _cell(self, mutant):
        """Name of the cell in the unit, and of that in the design or ``None``."""
        name = re.search(r"-cell (\S+)", mutant.command)[1]
        (alike,) = (alike for alike, names in self._in_unit.items() if name in names)
        here, there = self._in_unit[alike], self._alone.get(alike, [])
        nets = self._nets(name)
        same = [[each for each in names if self._nets(each) == nets] for names in (here, there)]
        if nets and len(same[0]) == len(same[1]):
            here, there = same
        if len(here) != len(there):
            return name, self._by_number(name, alike[0])
        return name, there[here.index(name)]

    def _by_number(self, name, inside):
        """The cell with the same number in a module that is numbered alike, or ``None``."""
        here, there = self._numbers(inside)
        number = _number_of(name)
        if any(here[each][0] != there[each][0] for each in here.keys() & there.keys()):
            return None
        return there[number][1] if number in there else None

    def _numbers(self, inside):
        """Of a module in both netlists: kind with source place, and name, of cells by number."""
        return [
            {
                number: (alike[1:3], name)
                for alike, names in found.items()
                if alike[0] == inside
                for name in names
                if (number := _number_of(name)) is not None
            }
            for found in (self._in_unit, self._alone)
        ]

    def _nets(self, name):
        """Names of the nets at the pins of a cell, where they have one in the source."""
        cell = self._pins[name]
        found = [
            (None if _is_reset(cell) else pin, _named(net))
            for pin, net in cell.pins
            if net not in (*_CLOCKS, *_RESETS)
        ]
        return [each for each in found if each[1] is not None]


class ResizedComponent(Component):
    """A component of the engine, in the design of a proof whose words and queues are shorter.

    The parameters of a cell may differ. The fault is at the bit with the same distance from the
    nearer end of the pin.

    Parameters
    ----------
    drawn, path, flat, dut
        See :class:`Component`.
    """

    is_resized = True

    def command(self, mutant: Mutant) -> str | None:
        """As of :class:`Component`. ``None`` also if both bits of a fault come to the same one, and
        the pin has no other, and if the memory has fewer ports in the design."""
        command = super().command(mutant)
        if command is None:
            return None
        here, there = (self._pins[each] for each in self._cell(mutant))
        bits, fewer = here.bits(mutant.port), there.bits(mutant.port)
        ports = there.ports(mutant.port)
        if ports and max(mutant.bit, mutant.other or 0) // bits >= ports:
            return None
        bit = moved(mutant.bit, bits, fewer)
        command = command.replace(f"-portbit {mutant.bit}", f"-portbit {bit}")
        if mutant.other is not None:
            other = moved(mutant.other, bits, fewer)
            if other == bit:
                other = bit - 1 if bit % fewer else bit + 1
                if other // fewer != bit // fewer:
                    return None
            command = command.replace(f"-ctrlbit {mutant.other}", f"-ctrlbit {other}")
        return command


def moved(bit: int, bits: int, others: int) -> int:
    """A bit of a pin of ``bits`` bits, in a pin of ``others``: as far from the nearer end."""
    port, bit = divmod(bit, bits)  # of a memory with several ports
    place = min(bit, others - 1) if 2 * bit < bits else max(0, others - (bits - bit))
    return port * others + place


def is_in(module: str, path: str) -> bool:
    """Whether a cell's module is a component or in it. Amaranth numbers the path of a component
    whose name is also that of a signal, as in ``core.header$12``."""
    return f"{_plain(module)}.".startswith(f"{_plain(path)}.")


def _is_reset(cell):
    """Whether a cell is the multiplexer of a reset."""
    return cell.kind == "mux" and dict(cell.pins).get("S") in _RESETS


def _turned(command):
    """The command of a fault, at the multiplexer of a reset that has the other level."""
    port = re.search(r"-port (\w)", command)[1]
    if port == "S":
        return re.sub(r"const[01]", lambda found: _LEVELS[found[0]], command, count=1)
    return command.replace(f"-port {port} ", f"-port {_INPUTS.get(port, port)} ")


def _order(name):
    """Order in which Amaranth, and then Yosys, wrote cells of one kind: as ``$procmux$12_CMP3``."""
    found = _CELL.search(name)
    return [int(number or 0) for number in found.groups()] if found else []


def _number_of(name):
    """Number that Amaranth gave a cell; ``None`` for one that Yosys made or named."""
    found = re.search(r"\.\$(\d+)$", name)
    return found and int(found[1])


def _named(net):
    """Name of the highest signal of a net, without its path; ``None`` if it has none."""
    last = net.lstrip("{ ").split(" ")[0].rpartition(".")[2].lstrip("\\")
    return None if re.match(r"\$|\d+'", last) else last


def _plain(path):
    return re.sub(_NUMBER, "", path)


def _alike(found, path, is_resized):
    """Names of the cells in a component and its subcomponents, in order, by module path, kind,
    source place and, unless they may differ, parameters."""
    names = {}
    for cell in sorted(found, key=lambda cell: _order(cell.name)):
        module = module_of(cell.name)
        if is_in(module, path):
            # The name of a memory contains its path, which differs between unit and design.
            parameters = [each for each in cell.parameters if each[0] != "\\MEMID"]
            inside = _plain(module)[len(_plain(path)) :]
            alike = (inside, cell.kind, cell.src, *(() if is_resized else parameters))
            names.setdefault(alike, []).append(cell.name)
    return names
