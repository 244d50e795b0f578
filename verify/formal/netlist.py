"""Convert a design to a netlist and a graph. Only this module has the Yosys scripts of the proofs.

The top module has a clock and a reset. It contains the bench, and the bench contains the design
under test. All registers and memories start with any value: only the reset defines register values.
"""

import re

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Instance, Module, Signal, Value

from cdma.toolchain import tool, yowasp
from cdma.verify.formal.fault import Fault, force

#: Kinds of formal cells: statements, and unconstrained values.
STATEMENTS = ("assert", "assume", "cover")
_CELLS = (*STATEMENTS, "anyseq", "anyconst")

_FLATTEN = """
read_rtlil design.il
hierarchy -top top
proc
flatten
delete t:$meminit_v2
setattr -unset init w:*
"""
#: After this step, cells have the names that fault injection uses.
_SETTLE = """
memory_collect
opt_expr
cd top
opt_clean {options}
cd ..
"""
_STATEMENTS = """
memory_map
{row_probes}
chformal -lower
opt_clean
{number}
write_rtlil named.il
"""
_GRAPH = """
# Statements become outputs, free values inputs; all other signals are there for the trace.
expose -evert {cells}
expose w:* w:$* %d x:* %d
# Else the values that registers begin with would be chosen to suit.
opt -full -keepdc
techmap
opt -full -keepdc
dffunmap
# What Yosys holds for "any value" is any value.
setundef -undriven -anyseq
aigmap
opt_clean
write_aiger -ascii -symbols graph.aag
"""

_NUMBER = "\n".join(f"rename -enumerate -pattern {kind}% t:${kind}" for kind in _CELLS)

#: A probe: path, and the signal to connect.
_PROBE = re.compile(r"^ *cell \\probe:(\S+) .*\n *connect \\VALUE \\(\S+)", re.MULTILINE)

_LINES = re.MULTILINE | re.DOTALL


class _Top(Elaboratable):
    """The design with its clock and reset as ports."""

    def __init__(self, design):
        self.design = design
        self.clk, self.rst = Signal(name="clk"), Signal(name="rst")

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = domain = ClockDomain()
        m.d.comb += [domain.clk.eq(self.clk), domain.rst.eq(self.rst)]
        m.submodules.bench = self.design
        return m


def rtlil_of(design: Elaboratable) -> str:
    """RTLIL of a design. It includes the assertions that components add on platform ``formal``."""
    top = _Top(design)
    return rtlil.convert(top, name="top", platform="formal", ports=[top.clk, top.rst])


def probe(m: Module, path: str, shape) -> Signal:
    """Signal inside the design, by its path below the bench, such as ``dut.level``.

    The invariants of inductions use probes. The proof fails if the signal does not exist. If
    several signals have the same name, Amaranth numbers them: ``$`` at the end of the path is the
    number of the one signal with this width.
    """
    signal = Signal(shape, name="probe_" + re.sub(r"\W", "_", path))
    m.submodules += Instance(f"probe:{path}", o_VALUE=Value.cast(signal))
    return signal


def flat(text: str, scratch, *, purge: bool = True) -> str:
    """Flat netlist of a design, from its RTLIL.

    Parameters
    ----------
    text : str
        RTLIL from :func:`rtlil_of`.
    scratch : Path
        Existing folder for the temporary files of Yosys.
    purge : bool
        Remove unused signals, including signals with names.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    settle = _SETTLE.format(options="-purge" if purge else "")
    made = _run(with_places(text), [_FLATTEN, settle, "write_rtlil flat.il"], ["flat.il"], scratch)
    return made["flat.il"]


def graph_of(
    text: str, scratch, *, fault: Fault | None = None, command: str = ""
) -> tuple[str, str]:
    """RTLIL with numbered statements, and the and-inverter graph as ASCII AIGER, of a design.

    Parameters
    ----------
    text : str
        RTLIL from :func:`rtlil_of`.
    scratch : Path
        Existing folder for the temporary files of Yosys.
    fault : Fault or None
        Fault to inject.
    command : str
        Yosys command that changes the flat netlist, with the names of :func:`flat`.

    Raises
    ------
    ValueError
        When the design does not have the signal of the fault.
    UserError
        When Yosys is missing or fails.
    """
    graph = _GRAPH.format(cells=" ".join(f"t:${kind}" for kind in _CELLS))
    probes, row_probes = _probes(text)
    steps = [_FLATTEN, probes]
    if fault or command:
        # After the probes, which keep their signals from removal.
        text = with_places(text)
        steps.append(_SETTLE.format(options=""))
    if fault:
        made = _run(text, [*steps, "write_rtlil flat.il"], ["flat.il"], scratch)
        text = force(made["flat.il"], fault)
        steps = ["read_rtlil design.il", "hierarchy -top top"]
    elif command:
        steps.append(f"cd top\n{command}\ncd ..")
    steps += [_STATEMENTS.format(row_probes=row_probes, number=_NUMBER), graph]
    made = _run(text, steps, ["named.il", "graph.aag"], scratch)
    return made["named.il"], made["graph.aag"]


def place_of(named: str, statement: str) -> str:
    """Source place of a statement, ``file:line``."""
    found = re.search(rf'attribute \\src "([^"]*)"\n\s*cell \$\w+ \\{statement}\n', named)
    return found[1] if found else statement


def with_places(text: str) -> str:
    """Copy the source place of each process to its branches, so that the multiplexers which Yosys
    makes of the branches keep the place."""
    place, lines = "", []
    for line in text.splitlines():
        kind, _, rest = line.strip().partition(" ")
        if kind == "attribute" and rest.startswith("\\src "):
            place = line
        elif kind == "switch":
            lines.append(place)
        lines.append(line)
    return "\n".join([*lines, ""])


def _run(text, steps, outputs, scratch):
    inputs = {"design.il": text, "script.ys": "\n".join([*steps, ""])}
    return tool.execute(yowasp.yosys(), ["script.ys"], inputs, outputs, scratch)


def _probes(text):
    """Yosys commands that connect the probes of signals, and those of memory rows."""
    lines, row_lines = [], []
    for path, value in _PROBE.findall(text):
        wire = path.replace("[", ".").replace("]", "")  # name of a memory row
        is_row = wire != path
        if path.endswith("$"):
            wire = _numbered(text, path, value)
        (row_lines if is_row else lines).extend(
            [
                *([f"rename bench.{path} bench.{wire}"] if is_row else []),
                f"delete t:probe:{path}",
                f"connect -nomap -nounset -set \\bench.{value} \\bench.{wire}",
            ]
        )
    return ("\n".join(["cd top", *dict.fromkeys(each), "cd .."]) for each in (lines, row_lines))


def _numbered(text, path, value):
    """Replace ``$`` of a path by the number of the one signal with the width of the probe."""
    module, _, name = path.rpartition(".")
    (width,) = re.findall(rf"^  wire width (\d+) \\{re.escape(value)}$", text, re.MULTILINE)
    body = re.search(rf"^module \\top\.bench\.{re.escape(module)}$.*?^end$", text, _LINES)[0]
    numbers = re.findall(rf"^  wire width {width} \\{re.escape(name)}(\d+)$", body, re.MULTILINE)
    return f"{path}{numbers[0]}" if len(numbers) == 1 else path
