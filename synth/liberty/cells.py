"""Functions of cells, and energy per change, from their Liberty groups."""

import bisect
import re
from dataclasses import dataclass
from functools import cached_property

from cdma.errors import UserError
from cdma.synth.liberty.tree import Group

_POWERS = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


@dataclass(frozen=True)
class Table:
    """Energy per change over input transition and output load, with linear interpolation.

    Parameters
    ----------
    slews, loads : tuple of float
        Points, in the library's units. Empty if the energy does not depend on the value.
    rows : tuple of tuple of float
        A row for each slew.
    """

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """Interpolated value. Outside of the points, the value at the nearest edge."""
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
        Capacitance of an input, in the library's unit.
    function : str
        Function of an output, in Liberty's notation, or "".
    energies : tuple of Table
        Energies of rising and falling, for each related pin and state of the cell.
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
        Power without any change, in the library's unit.
    pins : dict of str to Pin
    state : tuple of str
        For a flip-flop: names of the state and of its inverse. Else empty.
    next_state, clocked_on : str
        For a flip-flop: functions of the next state and of the clock.
    """

    name: str
    leakage: float
    pins: dict[str, Pin]
    state: tuple[str, ...] = ()
    next_state: str = ""
    clocked_on: str = ""


class Cells:
    """Cells of a library. The tables of a cell are read when the cell is first used.

    Parameters
    ----------
    library : Group
        Group of the library.

    Raises
    ------
    UserError
        When tables of energy have an unsupported order of indices.
    """

    def __init__(self, library: Group):
        self._library = library
        self._groups = {cell.arguments[0]: cell for cell in library.all("cell")}
        self._read: dict[str, Cell] = {}
        for template in library.all("power_lut_template"):
            variable = template.attributes.get("variable_1", "input_transition_time")
            if variable != "input_transition_time":
                raise UserError(f"energy over {variable} first: expected input_transition_time")

    def __getitem__(self, name: str) -> Cell:
        if name not in self._read:
            if name not in self._groups:
                raise UserError(f"the library has no cell {name}")
            self._read[name] = _cell(name, self._groups[name])
        return self._read[name]

    @cached_property
    def volts(self) -> float:
        """Nominal voltage."""
        return float(self._attribute("nom_voltage"))

    @cached_property
    def farads(self) -> float:
        """Unit of capacitance."""
        number, unit = self._library.values.get("capacitive_load_unit") or _lacks(
            "capacitive_load_unit"
        )
        return float(number) * _POWERS[unit.lower().removesuffix("f")]

    @cached_property
    def watts(self) -> float:
        """Unit of leakage."""
        return self._unit("leakage_power_unit", "W")

    @cached_property
    def joules(self) -> float:
        """Unit of energy in tables: unit of capacitance times the square of the unit of voltage."""
        return self.farads * self._unit("voltage_unit", "V") ** 2

    @cached_property
    def slew(self) -> float:
        """Transition time of every signal in the model, in the library's unit of time."""
        return float(self._attribute("default_max_transition")) / 10

    def _unit(self, name: str, base: str) -> float:
        text = self._attribute(name)
        found = re.fullmatch(rf"([\d.]+)\s*([munpf]?){base}", text)
        if found is None:
            raise UserError(f"{name} must be a number and a unit such as 1n{base}, not {text!r}")
        return float(found[1]) * _POWERS[found[2]]

    def _attribute(self, name: str) -> str:
        return self._library.attributes.get(name) or _lacks(name)


def _lacks(name: str):
    raise UserError(f"the library has no {name}")


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
    if not loads:  # energy of a change of the pin: a number for each slew, or one number
        rows = [[number] for row in rows for number in row]
    return Table(slews, loads, tuple(map(tuple, rows)))


def _between(points: tuple[float, ...], value: float) -> tuple[int, int, float]:
    """Indices of the points around a value, and the relative position between them."""
    if len(points) < 2 or value <= points[0]:
        return 0, 0, 0.0
    if value >= points[-1]:
        return len(points) - 1, len(points) - 1, 0.0
    high = bisect.bisect_right(points, value)
    low = high - 1
    return low, high, (value - points[low]) / (points[high] - points[low])
