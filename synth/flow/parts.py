"""Parts of a large design, each mapped by itself: area by part, in minutes instead of hours.

The modules below a part's root belong to the part, but for those that are the root of a part
themselves: these are black boxes there. A part is flattened and mapped, and its large memories are
left out as macros.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from cdma.errors import UserError
from cdma.synth.flow.asic import mapping
from cdma.synth.liberty.library import Liberty
from cdma.toolchain import yowasp
from cdma.toolchain.steps import Steps

#: A memory with clocked reads is a macro from this number of rows and bits on.
LEAST_ROWS, LEAST_BITS = 8, 1024
#: Before the names of the cells that stand for memories. The library has none of such a name.
RAM_CELL = "cdma_ram"
#: Ports of a memory cell in Yosys that are outputs; all others are inputs.
_OUTPUTS = ("RD_DATA",)


@dataclass(frozen=True)
class Macro:
    """A memory.

    Parameters
    ----------
    name : str
        Name of its module and of the memory.
    width, rows : int
        Bits of a row, and number of rows.
    reads, writes : int
        Ports.
    address_bits : int
    enables : tuple of str
        Signals that enable a write, each for all bits of a part of the row, the highest first.
        Empty where that is not known: each bit has an enable.
    """

    name: str
    width: int
    rows: int
    reads: int
    writes: int
    address_bits: int
    enables: tuple[str, ...] = ()

    @property
    def bits(self) -> int:
        """Bits of all rows."""
        return self.width * self.rows

    @property
    def cell(self) -> str:
        """Name of its cell."""
        ports = f"{self.reads}r{self.writes}w"
        if self.enables:
            ports += f"_{len(self.enables)}e"
        return f"{RAM_CELL}_{self.rows}x{self.width}_{self.address_bits}_{ports}"

    @property
    def box(self) -> str:
        """Its cell as a black box with the ports of a memory in Yosys."""
        reads, writes = self.reads, self.writes
        ports = {
            **dict.fromkeys(("RD_CLK", "RD_EN", "RD_ARST", "RD_SRST"), reads),
            "RD_ADDR": reads * self.address_bits,
            "RD_DATA": reads * self.width,
            "WR_CLK": writes,
            "WR_EN": len(self.enables) or writes * self.width,
            "WR_ADDR": writes * self.address_bits,
            "WR_DATA": writes * self.width,
        }
        listed = ", ".join(
            f"{'output' if name in _OUTPUTS else 'input'} [{bits - 1}:0] {name}"
            for name, bits in ports.items()
        )
        return f"(* blackbox *) module {self.cell}({listed}); endmodule\n"


@dataclass(frozen=True)
class Mapped:
    """A part after mapping.

    Parameters
    ----------
    area, storage : float
        Area in um2 of all cells, and of the flip-flops. Memories that are macros have no area.
    macros : tuple of Macro
    netlist : str
        Verilog netlist of cells, other parts and macros.
    """

    area: float
    storage: float
    macros: tuple[Macro, ...]
    netlist: str


class Modules:
    """The modules of a generated design.

    Parameters
    ----------
    verilog : str
        Verilog with one module a ``module`` ... ``endmodule``, as Yosys writes it.
    """

    def __init__(self, verilog: str):
        found = re.finditer(
            r"^(?:\(\*.*?\*\)\n)*module (\w+) *\(.*?^endmodule$",
            _with_plain_names(verilog),
            re.M | re.S,
        )
        texts = {each[1]: each[0] for each in found}
        names = _port_names(texts)
        self.texts = {
            name: _PORT.sub(lambda match: names.get(match[0], match[0]), text)
            for name, text in texts.items()
        }
        self.children = {
            name: [
                each for each in re.findall(r"^  (\w+) \\?\S+ +\($", text, re.M) if each in texts
            ]
            for name, text in texts.items()
        }

    def below(self, root: str, roots: Mapping[str, str] | set[str]) -> tuple[list[str], list[str]]:
        """Modules of the part of ``root``, and roots of the parts in it."""
        inside, others, waiting = [], [], [root]
        while waiting:
            name = waiting.pop()
            inside.append(name)
            for child in sorted(self.children[name], reverse=True):
                (others if child in roots else waiting).append(child)
        return inside, sorted(set(others))

    def part(self, root: str, roots: Mapping[str, str] | set[str]) -> tuple[str, list[str]]:
        """Text of a part with empty modules for the parts in it, and the names of these.

        Internal wires that Yosys numbers over the whole design are numbered anew, so that the text
        changes only with the part.
        """
        inside, others = self.below(root, roots)
        text = "\n".join(_ordered(self.texts[name]) for name in inside)
        numbers: dict[str, int] = {}
        text = re.sub(
            r"\\\$procmux\$(\d+)_Y",
            lambda match: rf"\$mux${numbers.setdefault(match[1], len(numbers))}_Y",
            text,
        )
        return "\n".join([text, *(_ports(self.texts[name]) for name in others)]) + "\n", others


def _with_plain_names(verilog: str) -> str:
    """Modules that Amaranth tells apart by a number, ``\\name$41``, get a name without escape."""
    for escaped in re.findall(r"^module (\\\S+) ", verilog, re.M):
        plain = re.sub(r"\W", "_", escaped[1:])
        while re.search(rf"^module {plain}\b", verilog, re.M):
            plain += "_"
        verilog = verilog.replace(f"{escaped} ", plain)
    return verilog


#: A port that Amaranth numbers over the whole design.
_PORT = re.compile(r"\\port\$\d+\$\d+(?= )")


def _port_names(texts: Mapping[str, str]) -> dict[str, str]:
    """Names for such ports that do not change with other parts: after the last module with it."""
    names = {}
    for module in sorted(texts):
        header = texts[module].partition(");\n")[0]
        for number, port in enumerate(_PORT.findall(header)):
            names[port] = rf"\port${number}${module}"
    return names


def _ordered(text: str) -> str:
    """A module with its assignments in the order of their texts, which means nothing in Verilog."""
    lines = text.split("\n")
    places = [k for k, line in enumerate(lines) if re.match(r"  assign .*;$", line)]
    for place, line in zip(places, sorted(lines[k] for k in places), strict=True):
        lines[place] = line
    return "\n".join(lines)


def _ports(text: str) -> str:
    """A module without its content."""
    header, _, body = text.partition(");\n")
    lines = [line for line in body.splitlines() if re.match(r"  (input|output|inout) ", line)]
    return "\n".join([f"{header});", *lines, "endmodule"])


def synthesise(
    steps: Steps,
    label: str,
    root: str,
    part: tuple[str, list[str]],
    liberty: Liberty,
    flow: str = "abc",
) -> Mapped:
    """Map a part onto the cells of a library.

    Parameters
    ----------
    steps : Steps
    label : str
        Label for progress.
    root : str
        Top-level module of the part.
    part : (str, list of str)
        From :meth:`Modules.part`.
    liberty : Liberty
    flow : str
        Script of ABC, a key of :data:`asic.FLOWS <cdma.synth.flow.asic.FLOWS>`.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    text, others = part
    boxes = "\n".join(f"blackbox {name}" for name in others)
    script = f"""\
read_verilog part.v
{boxes}
hierarchy -top {root}
proc
flatten
opt -full
memory -nomap
opt_clean
select -set rams t:$mem_v2 r:RD_CLK_ENABLE>0 %i r:SIZE>={LEAST_ROWS} %i
dump -o rams.txt @rams
"""
    files = steps.run(
        f"{label}: memories",
        yowasp.yosys(),
        ["rams.ys"],
        {"part.v": text, "rams.ys": script + "write_rtlil part.il\n"},
        ["rams.txt", "part.il"],
    )
    macros = _macros(root, files["rams.txt"])
    # The parameters of a memory would ask for another version of the black box.
    chosen = "\n".join(
        f"chtype -set {macro.cell} {root}/{name}\nsetparam {_UNSET} {root}/{name}"
        for name, macro in macros.items()
    )
    # Yosys has an enable for each bit of a row: hundreds of loads where a memory has a pin.
    enables = "\n".join(
        f"connect -port {name} WR_EN {','.join(macro.enables)}"
        for name, macro in macros.items()
        if macro.enables
    )
    commands, cells = mapping(liberty, flow)
    boxes = "".join(sorted({macro.box for macro in macros.values()}))
    script = f"""\
read_rtlil part.il
{chosen}
cd {root}
{enables}
cd ..
read_verilog -lib rams.v
synth -run coarse: -noabc -top {root}
{commands}
tee -q -o stat.json stat -json -liberty cells.lib -top {root}
write_verilog -noattr -noexpr -simple-lhs mapped.v
"""
    files = steps.run(
        f"{label}: Yosys for {liberty.name}, {flow} script",
        yowasp.yosys(),
        ["asic.ys"],
        {
            "part.il": files["part.il"],
            "rams.v": boxes,
            **cells,
            "asic.ys": script,
        },
        ["mapped.v", "stat.json"],
    )
    figures = json.loads(files["stat.json"])["modules"][f"\\{root}"]
    # A part without cells of the library has no area in the report.
    area, storage = (figures.get(name, 0.0) for name in ("area", "sequential_area"))
    return Mapped(area, storage, tuple(macros.values()), files["mapped.v"])


_PARAMETERS = (
    *("MEMID", "SIZE", "OFFSET", "ABITS", "WIDTH", "INIT", "RD_PORTS", "RD_CLK_ENABLE"),
    *("RD_CLK_POLARITY", "RD_TRANSPARENCY_MASK", "RD_COLLISION_X_MASK", "RD_WIDE_CONTINUATION"),
    *("RD_CE_OVER_SRST", "RD_ARST_VALUE", "RD_SRST_VALUE", "RD_INIT_VALUE", "WR_PORTS"),
    *("WR_CLK_ENABLE", "WR_CLK_POLARITY", "WR_PRIORITY_MASK", "WR_WIDE_CONTINUATION"),
)
_UNSET = " ".join(f"-unset {name}" for name in _PARAMETERS)


def _macros(root: str, text: str) -> dict[str, Macro]:
    """Macros by the name of their cell."""
    cells = re.findall(r"cell \$mem_v2 (\S+)\n(.*?)^\s*end$", text, re.M | re.S)
    found = {}
    for cell, body in cells:
        numbers = {}
        for parameter in ("WIDTH", "SIZE", "RD_PORTS", "WR_PORTS", "ABITS"):
            match = re.search(rf"parameter \\{parameter} (?:signed )?(\d+)$", body, re.M)
            if match is None:
                raise UserError(f"{root}: a memory without {parameter} in the output of Yosys")
            numbers[parameter] = int(match[1])
        enables = _enables(body) if numbers["WR_PORTS"] == 1 else ()
        macro = Macro(f"{root}.{cell.lstrip(chr(92))}", *numbers.values(), enables)
        if macro.bits >= LEAST_BITS:
            found[cell.lstrip("\\")] = macro
    return found


def _enables(body: str) -> tuple[str, ...]:
    """Enables of a memory with one write port: single bits, each for a part of the row, or none."""
    bits = re.search(r"connect \\WR_EN \{ (.*) \}$", body, re.M)
    if bits is None or re.search(r"\[\d+:\d+\]|\d'", bits[1]):
        return ()
    return tuple(bit for bit, _ in groupby(re.sub(r" (?=\[)", "", bits[1]).split()))
