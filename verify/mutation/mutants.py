"""Mutants of a unit or of the engine: many small faults in one netlist. An input selects one.

The Yosys command ``mutate`` makes the mutants, evenly distributed over modules, cells, bits and
source lines. A bit of a cell pin is inverted, stuck at 0 or 1, or inverted if another bit of the
pin is 0 or 1. The netlist is flat and not optimised: it has word-wide cells and whole memories.
Clock pins are excluded: such a fault is in the clock tree, not in the logic.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from amaranth.back import rtlil

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.hdl.axi.stream import top
from cdma.hdl.codecs import UnitConfig
from cdma.hdl.engine.engine import AxiEngine
from cdma.toolchain import tool, yowasp
from cdma.verify.formal.netlist import with_places

#: Name of the engine among the units.
ENGINE = "engine"
#: Input that selects a mutant. 0 selects the unit without a fault.
CHOICE = "mutant"
#: Descriptions of the modes of ``mutate``.
MODES = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted where bit {other} is 0",
    "cnot1": "inverted where bit {other} is 1",
}

_CELL = re.compile(
    r"^((?:  attribute .*\n)*)  cell \$(\w+) (\S+)\n((?:    .*\n)*)  end$", re.MULTILINE
)
_DRAW = """
read_rtlil design.il
proc -norom
# What a register holds is made known by reset.
delete t:$meminit_v2
memory_collect
flatten
opt_expr
opt_clean -purge
setattr -unset init w:*
write_rtlil flat.il
mutate -list {count} -seed {seed} -o list.txt
"""
_WEAVE = """
read_rtlil flat.il
{mutations}
write_rtlil mutated.il
write_verilog -norename -noattr mutated.v
"""

#: Parameter with the width of a memory's pins, by the end of their names.
_MEMORY_PINS = {"DATA": "WIDTH", "ADDR": "ABITS"}


@dataclass(frozen=True)
class Cell:
    """A cell of a netlist, with its kind, such as ``mux``, its source place, and what its pins are
    connected to."""

    name: str
    kind: str
    src: str
    parameters: tuple[tuple[str, str], ...]
    pins: tuple[tuple[str, str], ...] = ()

    def bits(self, pin: str) -> int:
        """Width of a pin; of a memory, the width at one of its ports."""
        known = {name.lstrip("\\"): value for name, value in self.parameters}
        if "ABITS" in known:
            # A write port has an enable for each bit.
            wanted = "WIDTH" if pin == "WR_EN" else _MEMORY_PINS.get(pin.partition("_")[2])
        elif "WIDTH" in known:  # registers and multiplexers
            wanted = "WIDTH" if pin in ("A", "B", "D", "Q", "Y") else None
        else:
            wanted = f"{pin}_WIDTH"
        return int(known.get(wanted, 1))

    def ports(self, pin: str) -> int | None:
        """Number of ports of a memory that a pin has bits of; ``None`` of other cells."""
        known = {name.lstrip("\\"): value for name, value in self.parameters}
        ports = known.get(f"{pin.partition('_')[0]}_PORTS")
        return ports and int(ports)


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Members
    -------
    number : value of the input ``mutant`` that selects this mutant, from 1
    mode : key of :data:`MODES`
    cell : kind of cell, such as ``mux``
    module : path of the cell's module, such as ``core.fetcher``
    port, bit : pin of the cell and bit of the pin
    other : other bit of the pin, for modes that have one
    line : source place of the cell, ``hdl/zvc/decompressor/fetch.py:204``
    command : options of the Yosys command ``mutate``
    """

    number: int
    mode: str
    cell: str
    module: str
    port: str
    bit: int
    other: int | None
    line: str
    command: str

    def __str__(self):
        mode = MODES[self.mode].format(other=self.other)
        return f"{self.module}: {self.cell}.{self.port}[{self.bit}] {mode}"


@dataclass(frozen=True)
class Drawn:
    """The netlist of a unit, as RTLIL, and its mutants."""

    unit: str
    rtlil: str
    mutants: list[Mutant]


@dataclass(frozen=True)
class Mutated:
    """Verilog and RTLIL of a unit with mutants, which the input :data:`CHOICE` selects."""

    verilog: str
    rtlil: str
    mutants: list[Mutant]


def draw(
    unit: str, config: UnitConfig | EngineConfig, count: int, seed: int, scratch: Path
) -> Drawn:
    """Draw mutants of a unit or of the engine.

    Parameters
    ----------
    unit : str
        ``compressor``, ``decompressor`` or ``engine``.
    config : UnitConfig or EngineConfig
        Size of the unit or of the engine.
    count : int
        Number of mutants.
    seed : int
        Seed of the choice.
    scratch : Path
        Existing folder for the temporary files of Yosys.

    Raises
    ------
    ValueError
        When the unit is unknown.
    UserError
        When Yosys is missing or fails, or the unit has fewer mutants.
    """
    name = f"cdma_{unit}"
    made = AxiEngine(config) if unit == ENGINE else top(unit, config)
    design = with_places(rtlil.convert(made, name=name))
    # Draw some more: mutants at clock pins, and at read enables (the memories have none), are
    # removed.
    script = _DRAW.format(count=count + count // 10 + 10, seed=seed)
    made = tool.execute(
        yowasp.yosys(),
        ["draw.ys"],
        {"design.il": design, "draw.ys": script},
        ["flat.il", "list.txt"],
        scratch,
    )
    lines = made["list.txt"].splitlines()
    lines = [line for line in lines if "CLK -" not in line and "-port RD_EN " not in line][:count]
    if len(lines) < count:
        raise UserError(f"the {unit} has {len(lines)} mutants, expected at least {count}")
    by_name = {cell.name: cell for cell in cells(made["flat.il"])}
    mutants = [_read(number, line, by_name) for number, line in enumerate(lines, 1)]
    return Drawn(unit, made["flat.il"], mutants)


def weave(drawn: Drawn, mutants: list[Mutant], scratch: Path) -> Mutated:
    """Insert some of the drawn mutants into the netlist. The input selects them by number.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    bits = max(mutant.number for mutant in mutants).bit_length()
    mutations = [
        f"mutate -ctrl {CHOICE} {bits} {mutant.number} {mutant.command}" for mutant in mutants
    ]
    made = tool.execute(
        yowasp.yosys(),
        ["weave.ys"],
        {"flat.il": drawn.rtlil, "weave.ys": _WEAVE.format(mutations="\n".join(mutations))},
        ["mutated.il", "mutated.v"],
        scratch,
    )
    return Mutated(made["mutated.v"], made["mutated.il"], mutants)


@lru_cache(maxsize=8)
def cells(text: str) -> list[Cell]:
    """The cells of a netlist, in order."""
    found = []
    for attributes, kind, name, body in _CELL.findall(text):
        src = re.search(r'attribute \\src "([^"]*)"', attributes)
        parameters = re.findall(r"parameter (?:signed )?(\S+) (\S+)", body)
        pins = re.findall(r"connect \\(\S+) (.*)", body)
        place = src[1] if src else ""
        name = name.removeprefix("\\")
        found.append(Cell(name, kind, place, tuple(sorted(parameters)), tuple(sorted(pins))))
    return found


def module_of(cell: str) -> str:
    """Module path of a cell in a flat netlist, from its name, such as ``core.fetcher``."""
    path = re.sub(r"^\$flatten|\\|\.?\$\d+$|\.$", "", cell).replace("..", ".")
    return path.rpartition(".$")[0] or path


def _line(src: str) -> str:
    """First source place in the hardware of this package, relative to the package."""
    places = re.findall(r"\bhdl/[\w/]+\.py:\d+", src)
    return places[0] if places else "hdl"


def _read(number: int, line: str, by_name: dict[str, Cell]) -> Mutant:
    found = dict(re.findall(r" -(\w+) (\S+)", line))
    cell = by_name[found["cell"]]
    other = found.get("ctrlbit")
    return Mutant(
        number,
        found["mode"],
        cell.kind,
        module_of(cell.name),
        found["port"],
        int(found["portbit"]),
        None if other is None else int(other),
        _line(cell.src),
        command=re.sub(r"^mutate | -(src|wire|wirebit) .*", "", line),
    )
