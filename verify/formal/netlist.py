"""From a design to its netlist and graph: the only module that knows how Yosys is asked.

The top module has a clock and a reset; below it is the bench, and in it the design under test. All
registers and memories begin with any value: what a register holds is made known by reset.
"""

import re

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Instance, Module, Signal, Value

from cdma.toolchain import tool, yowasp
from cdma.verify.formal.fault import Fault, force

#: Kinds of formal cells: statements, and free values.
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
#: After it the cells have the names by which faults are put in.
_SETTLE = """
memory_collect
opt_expr
cd top
opt_clean {options}
cd ..
"""
_STATEMENTS = """
{probes}
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

#: A probe: the path, and the signal that is to be connected.
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
    """RTLIL of a design; what its components assert on the platform ``formal`` is part of it."""
    top = _Top(design)
    return rtlil.convert(top, name="top", platform="formal", ports=[top.clk, top.rst])


def probe(m: Module, path: str, shape) -> Signal:
    """Signal inside the design, by its name below the design's own modules, such as ``dut.level``.

    For the invariants of an induction; a proof fails where there is no such signal. ``$`` at the
    end stands for the number of a signal that shares its name with others, but not its width.
    """
    signal = Signal(shape, name="probe_" + re.sub(r"\W", "_", path))
    m.submodules += Instance(f"probe:{path}", o_VALUE=Value.cast(signal))
    return signal


def flat(text: str, scratch, *, purge: bool = True) -> str:
    """Flat netlist of a design's RTLIL.

    Parameters
    ----------
    text : str
        As :func:`rtlil_of` gives it.
    scratch : Path
        Existing folder for Yosys to work in.
    purge : bool
        Signals that nobody reads are removed, named ones too.

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
    """Numbered statements, as RTLIL, and the and-inverter graph, as ASCII AIGER, of a design.

    Parameters
    ----------
    text : str
        Its RTLIL, as :func:`rtlil_of` gives it.
    scratch : Path
        Existing folder for Yosys to work in.
    fault : Fault or None
        Forces a signal of the design.
    command : str
        Yosys' command that changes the flat netlist, by the names of :func:`flat`.

    Raises
    ------
    ValueError
        When the design has no such signal as the fault names.
    UserError
        When Yosys is missing or fails.
    """
    graph = _GRAPH.format(cells=" ".join(f"t:${kind}" for kind in _CELLS))
    probes, row_probes = _probes(text)
    if fault:
        # What is probed is kept.
        settle = [_FLATTEN, probes, _SETTLE.format(options=""), "write_rtlil flat.il"]
        text = force(_run(with_places(text), settle, ["flat.il"], scratch)["flat.il"], fault)
        steps, probes = ["read_rtlil design.il", "hierarchy -top top"], ""
    elif command:
        text = with_places(text)
        steps = [_FLATTEN, _SETTLE.format(options=""), f"cd top\n{command}\ncd .."]
    else:
        steps = [_FLATTEN]
    steps += [_STATEMENTS.format(probes=probes, row_probes=row_probes, number=_NUMBER), graph]
    made = _run(text, steps, ["named.il", "graph.aag"], scratch)
    return made["named.il"], made["graph.aag"]


def place_of(named: str, statement: str) -> str:
    """Where a statement of that name was written: ``file:line``."""
    found = re.search(rf'attribute \\src "([^"]*)"\n\s*cell \$\w+ \\{statement}\n', named)
    return found[1] if found else statement


def with_places(text: str) -> str:
    """The design with a process' place in the sources at each of its branches, which Yosys makes
    multiplexers of."""
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
    """Commands that connect the probes of signals; those of the rows of memories."""
    lines, row_lines = [], []
    for path, value in _PROBE.findall(text):
        wire = path.replace("[", ".").replace("]", "")  # a row of a memory
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
    """The path with its number, when there is one signal of its name and the probe's width."""
    module, _, name = path.rpartition(".")
    (width,) = re.findall(rf"^  wire width (\d+) \\{re.escape(value)}$", text, re.MULTILINE)
    body = re.search(rf"^module \\top\.bench\.{re.escape(module)}$.*?^end$", text, _LINES)[0]
    numbers = re.findall(rf"^  wire width {width} \\{re.escape(name)}(\d+)$", body, re.MULTILINE)
    return f"{path}{numbers[0]}" if len(numbers) == 1 else path
