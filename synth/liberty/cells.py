"""What cells do and what a change costs them, from their Liberty groups.

Liberty is a tree of groups ``name(arguments) { ... }`` with attributes ``name : value;`` and
``name(values);`` (Liberty Reference Manual, 2017.06). Only the cells that are asked for are parsed:
a library is megabytes of tables.
"""

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property

from cdma.errors import UserError

_TOKEN = re.compile(r'"([^"]*)"|([^\s(){};:,"\\]+)|([(){};:,])')


_POWERS = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


@dataclass
class Group:
    """A group of a Liberty file."""

    kind: str
    arguments: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def all(self, kind: str) -> list["Group"]:
        """The groups of a kind directly below."""
        return [group for group in self.groups if group.kind == kind]


@dataclass(frozen=True)
class Table:
    """Energy per change over input transition and output load, linear between its points.

    Parameters
    ----------
    slews, loads : tuple of float
        Its points, in the library's units; empty where it does not depend on one.
    rows : tuple of tuple of float
        A row for each slew.
    """

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """Value there; outside of the points that of the nearest edge."""
        low, high, share = _between(self.loads, load)
        column = [row[low] + share * (row[high] - row[low]) for row in self.rows]
        low, high, share = _between(self.slews, slew)
        return column[low] + share * (column[high] - column[low])


@dataclass(frozen=True)
class Pin:
    """A pin of a cell.

    Parameters
    ----------
    is_output : bool
    capacitance : float
        Of an input, in the library's unit.
    function : str
        Of an output, in Liberty's notation; "" if it has none.
    energies : tuple of Table
        Of rising and falling, for each related pin and state of the cell.
    """

    is_output: bool
    capacitance: float
    function: str
    energies: tuple[Table, ...]

    def energy(self, slew: float, load: float) -> float:
        """Mean energy of a change, over rising and falling, related pins and states."""
        every = [table.at(slew, load) for table in self.energies]
        return sum(every) / len(every) if every else 0.0


@dataclass(frozen=True)
class Cell:
    """A cell.

    Parameters
    ----------
    name : str
    leakage : float
        Power when nothing changes, in the library's unit.
    pins : dict of str to Pin
    state : tuple of str
        Of a flip-flop the names of its state and the inverse, else empty.
    next_state, clocked_on : str
        Of a flip-flop.
    """

    name: str
    leakage: float
    pins: dict[str, Pin]
    state: tuple[str, ...] = ()
    next_state: str = ""
    clocked_on: str = ""


class Cells:
    """Cells of a library, parsed when they are asked for.

    Parameters
    ----------
    text : str
        The library.
    """

    def __init__(self, text: str):
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        self._head, *cells = re.split(r"\bcell\s*\(", bare)
        self._cells = {cell.partition(")")[0].strip().strip('"'): f"cell({cell}" for cell in cells}
        self._parsed: dict[str, Cell] = {}
        templates = r"\bpower_lut_template\s*\([^)]*\)\s*\{\s*variable_1\s*:\s*\"?(\w+)"
        for variable in re.findall(templates, self._head):
            if variable != "input_transition_time":
                raise UserError(f"energy over {variable} first: expected input_transition_time")

    def __getitem__(self, name: str) -> Cell:
        if name not in self._parsed:
            if name not in self._cells:
                raise UserError(f"the library has no cell {name}")
            self._parsed[name] = _cell(name, parse(self._cells[name]))
        return self._parsed[name]

    @cached_property
    def volts(self) -> float:
        """Nominal voltage."""
        return float(self._find(r"nom_voltage\s*:\s*\"?([\d.eE+-]+)")[0])

    @cached_property
    def farads(self) -> float:
        """Unit of capacitance."""
        number, unit = self._find(r"capacitive_load_unit\s*\(\s*([\d.]+)\s*,\s*\"?(\w+)")
        return float(number) * _POWERS[unit.lower().removesuffix("f")]

    @cached_property
    def watts(self) -> float:
        """Unit of leakage."""
        return self._unit("leakage_power_unit", "W")

    @cached_property
    def joules(self) -> float:
        """Unit of energy in tables: that of capacitance by that of voltage squared."""
        return self.farads * self._unit("voltage_unit", "V") ** 2

    @cached_property
    def slew(self) -> float:
        """Transition time that the model gives every signal, in the library's unit of time."""
        return float(self._find(r"default_max_transition\s*:\s*\"?([\d.eE+-]+)")[0]) / 10

    def _unit(self, name: str, base: str) -> float:
        number, prefix = self._find(rf"{name}\s*:\s*\"?([\d.]+)\s*([munpf]?){base}")
        return float(number) * _POWERS[prefix]

    def _find(self, pattern: str) -> tuple[str, ...]:
        found = re.search(rf"\b{pattern}", self._head)
        if found is None:
            raise UserError(f"the library has no {re.match(r'[a-z_]+', pattern)[0]}")
        return found.groups()


def parse(text: str) -> Group:
    """Tree of the first group in the text.

    Raises
    ------
    UserError
        When it is not closed.
    """
    tokens = (match.groups() for match in _TOKEN.finditer(text))
    words: list[str] = []  # of the statement so far; a colon or a parenthesis is a word
    stack: list[Group] = []
    for quoted, bare, mark in tokens:
        if mark is None or mark in ("(", ":"):
            words.append(quoted if quoted is not None else bare or mark)
        elif mark == "{":
            stack.append(Group(words[0], words[2:]))
            words = []
        elif mark == ";":
            _attribute(stack[-1], words)
            words = []
        elif mark == "}":
            _attribute(stack[-1], words)
            words = []
            group = stack.pop()
            if not stack:
                return group
            stack[-1].groups.append(group)
    raise UserError("the library is cut short (its last group is not closed)")


def _attribute(group: Group, words: list[str]) -> None:
    if len(words) > 2 and words[1] == ":":
        group.attributes[words[0]] = " ".join(words[2:])
    elif len(words) > 2 and words[1] == "(":
        group.values[words[0]] = words[2:]


def _cell(name: str, group: Group) -> Cell:
    pins = {pin.arguments[0]: _pin(pin) for pin in group.all("pin")}
    leakage = float(group.attributes.get("cell_leakage_power", "0"))
    for state in group.all("ff"):
        if {"clear", "preset"} & set(state.attributes):
            raise UserError(f"{name}: flip-flops with asynchronous clear or preset do not occur")
        return Cell(
            *(name, leakage, pins, tuple(state.arguments)),
            next_state=state.attributes["next_state"],
            clocked_on=state.attributes["clocked_on"],
        )
    return Cell(name, leakage, pins)


def _pin(group: Group) -> Pin:
    return Pin(
        is_output=group.attributes["direction"] == "output",
        capacitance=float(group.attributes.get("capacitance", "0")),
        function=group.attributes.get("function", ""),
        energies=tuple(
            _table(group)
            for power in group.all("internal_power")
            for group in power.groups
            if group.kind in ("rise_power", "fall_power", "power")
        ),
    )


def _table(group: Group) -> Table:
    numbers = {
        name: [[float(number) for number in row.replace(",", " ").split()] for row in rows]
        for name, rows in group.values.items()
    }
    slews, loads = (tuple(numbers.get(name, [()])[0]) for name in ("index_1", "index_2"))
    rows = numbers["values"]
    if not loads:  # energy of a pin's own change: a number for each slew, or one alone
        rows = [[number] for row in rows for number in row]
    return Table(slews, loads, tuple(map(tuple, rows)))


def _between(points: tuple[float, ...], value: float) -> tuple[int, int, float]:
    """Indices of the points around a value, and how far it is from one to the other."""
    if len(points) < 2 or value <= points[0]:
        return 0, 0, 0.0
    if value >= points[-1]:
        return len(points) - 1, len(points) - 1, 0.0
    high = bisect.bisect_right(points, value)
    low = high - 1
    return low, high, (value - points[low]) / (points[high] - points[low])
