"""Run the proofs of the engine's components on the mutants that no trial kills.

A mutant is put into the same cell of its component in the design of a proof. A test of the
regression fails when the proof fails, so such a fault is noticed. Proofs have shorter addresses,
numbers and queues than any engine that is built, but the same statement made both cells. Where the
cell of the proof has fewer bits, the fault is at the bit with the same distance from the nearer
end.

What no proof notices may be no fault: :mod:`cdma.verify.mutation.engine.parts` looks for a proof of
that.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cdma.sweep import Packed, Task, in_order, sweep
from cdma.toolchain.cache import cache_folder
from cdma.verify.formal import netlist, prover
from cdma.verify.mutation.component import ResizedComponent
from cdma.verify.mutation.engine.campaign import interval
from cdma.verify.mutation.engine.parts import unchanged
from cdma.verify.mutation.mutants import Drawn, Mutant
from cdma.verify.mutation.proof import EQUIVALENT
from cdma.verify.proofs.proof import Proof
from cdma.verify.proofs.registry import registry

#: Proofs by the path of the component in the engine, parts in front of what has them. That of the
#: registers is left out: it compares two of them, and only one would have the fault.
PLACES = {
    r"front\.lite": "axi/lite_subordinate",
    r"front\.counters(?=\.taken)": "engine/snapshots",
    r"front\.counters": "engine/counters",
    r"front\.interrupts\.coalescer\d": "engine/coalescer",
    r"front\.interrupts": "engine/interrupts",
    r"front\.rings\.arena": "engine/arena",
    r"front\.rings\.counts": "engine/counts",
    r"front\.rings\.fetcher": "engine/fetcher",
    r"front\.rings\.finisher": "engine/finisher",
    r"front\.rings\.starter\.checker\.multiplier": "engine/multiplier",
    r"front\.rings\.starter\.checker": "engine/checker",
    r"front\.rings\.starter\.fence": "engine/fence",
    r"front\.rings\.starter\.operands": "engine/operands",
    r"front\.rings\.starter": "engine/starter",
    r"front\.rings\.state\d": "engine/ring_state",
    r"front\.rings\.writer": "engine/completion_writer",
    r"front\.rings": "engine/rings",
    r"front(?=$)": "engine/frozen_channels",
    r"front": "engine/front_end",
    r"data\.memory\d\.latency": "engine/latency_sampler",
    r"data\.memory\d\.limiter": "engine/rate_limiter",
    r"(data\.memory\d|link)\.\w+_watchdog": "engine/watchdog",
    r"data\.memory\d": "engine/memory_port",
    r"data\.\w+\.control\.answers": "engine/job_answers",
    r"data\.\w+\.control": "engine/job_control",
    r"data\.\w+\.sequencer": "engine/stripe_sequencer",
    r"data\.offload\.errors": "engine/error_collector",
    r"data\.offload\.decision": "engine/raw_decision",
    r"data\.offload\.channel\d\.codec": "engine/stripe_compressor",
    r"data\.offload\.channel\d\.reader": "engine/stripe_reader",
    r"data\.offload\.channel\d(?=$)": "engine/offload_channel",
    r"data\.offload\.channel\d": "engine/credits",
    r"data\.offload\.job_ends\.count\d": "engine/work_count",
    r"data\.offload\.job_ends": "engine/job_ends",
    r"data\.offload\.host\.crc": "engine/unit_crc",
    r"data\.offload\.host\.ledger": "engine/ledger",
    r"data\.offload\.host\.gather": "engine/gather",
    r"data\.offload\.host\.entries": "engine/index_entries",
    r"data\.offload\.host\.stream_limit": "engine/limit",
    r"data\.offload\.host\.\w+\.cutter": "engine/burst_cutter",
    r"data\.offload\.host\.\w+\.log": "engine/burst_log",
    r"data\.offload\.host\.\w+\.ring": "engine/word_ring",
    r"data\.offload\.host\.\w+\.sender": "engine/burst_sender",
    r"data\.offload\.host\.\w+_writer": "engine/stream_writer_parts",
    r"data\.offload\.host": "engine/host_writer",
    r"data\.offload": "engine/offload_unit",
    r"data\.prefetch\.errors": "engine/stripe_errors",
    r"data\.prefetch\.(entries\.)?reader": "engine/range_reader",
    r"data\.prefetch\.entries": "engine/entry_reader",
    r"data\.prefetch\.tasks": "engine/task_maker",
    r"data\.prefetch\.table": "engine/stripe_table",
    r"data\.prefetch\.split\.planner": "engine/row_planner",
    r"data\.prefetch\.split": "engine/split",
    r"data\.prefetch\.check\.crc\.core": "engine/unit_crc",
    r"data\.prefetch\.check\.crc": "engine/stripe_crc",
    r"data\.prefetch\.check": "engine/crc_check",
    r"data\.prefetch\.channel\d\.(codec\.slot|writer\.errors)": "engine/error_slot",
    r"data\.prefetch\.channel\d\.codec": "engine/stripe_decompressor",
    r"data\.prefetch\.channel\d\.writer": "engine/stripe_writer",
    r"data\.prefetch\.channel\d": "engine/prefetch_channel",
    r"data\.prefetch(?=$)": "engine/prefetch_unit_no_stalls",  # takes minutes: its own cells only
    r"data": "engine/data_path",
    r"link\.\w+_owed": "lib/tally",
    r"link": "engine/link_arbiter",
}
#: Further proofs of these components: put to these next.
MORE = {
    r"front\.counters": "engine/snapshots",
    r"front\.rings\.fetcher": "engine/fetcher_serves",
    r"front\.rings\.finisher": "engine/finisher_fields",
    r"front(?=$)": "engine/timeouts",
}
#: Proofs of components of the library, by the file that has them: put to these last.
LIBRARY = {
    "hdl/lib/fifo.py": ("lib/fifo",),
    "hdl/lib/queue.py": ("lib/queue",),
    "hdl/lib/buffer.py": ("lib/row_buffer",),
    "hdl/lib/counter.py": ("lib/counter", "lib/step_counter", "lib/late_counter"),
    "hdl/lib/tally.py": ("lib/tally",),
    "hdl/lib/timer.py": ("lib/timer",),
}
#: Outcomes: an assertion is violated within some cycles after reset; the induction fails; the proof
#: holds for the mutant; no answer within the limits.
REFUTED, BROKEN, HOLDS, OPEN = "refuted", "broken", "holds", "open"
#: Outcomes with which the regression fails.
NOTICED = (REFUTED, BROKEN)
#: Time limit of ABC, in seconds.
_SECONDS = 60


@dataclass(frozen=True)
class Judged:
    """What the proof of its component says about a mutant.

    Members
    -------
    number : of the mutant
    proof, size : names of the proof and of its size
    outcome : ``refuted``, ``broken``, ``holds`` or ``open``
    cycle : of the violation, when it is refuted
    """

    number: int
    proof: str
    size: str
    outcome: str
    cycle: int | None = None

    @property
    def is_noticed(self) -> bool:
        """Whether the proof fails."""
        return self.outcome in NOTICED

    def __str__(self):
        if self.outcome == REFUTED:
            return f"refuted by {self.proof} in cycle {self.cycle}"
        return {BROKEN: "breaks", HOLDS: "is allowed by", OPEN: "not decided by"}[
            self.outcome
        ] + f" {self.proof}"


def places_of(mutant: Mutant) -> list[tuple[str, str]]:
    """Paths of the components that a mutant is in, and the names of their proofs."""
    found = [
        (match[1], proof)
        for pattern, proof in (*PLACES.items(), *MORE.items())
        if (match := re.match(rf"({pattern})(\.|$)", mutant.module))
    ]
    file, path = mutant.line.partition(":")[0], mutant.module.removesuffix(".memory")
    return [*found, *((path, proof) for proof in LIBRARY.get(file, ()))]


def put_to_proofs(
    drawn: Drawn,
    mutants: Iterable[Mutant],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    cache: str | None = None,
) -> Iterator[Judged]:
    """Run the proofs of their components on mutants of the engine.

    Parameters
    ----------
    drawn : Drawn
        The netlist of the engine.
    mutants : iterable of Mutant
        Those without a proof, or without their cell in the design of one, are left out.
    jobs, scheduler
        Processes, or the address of a Dask scheduler.
    cache : str or None
        See :func:`cdma.toolchain.cache.cache_folder`.

    Yields
    ------
    Judged
        In the order of the mutants.
    """
    packed = Packed(drawn)
    tasks = [
        Task(f"proof of mutant {each.number}", (packed, each, cache), 1)
        for each in mutants
        if places_of(each)
    ]
    with closing(sweep(judge, tasks, jobs=jobs, scheduler=scheduler)) as outcomes:
        for outcome in in_order(tasks, outcomes):
            if outcome.error is not None:
                raise outcome.error
            if outcome.value:
                yield outcome.value


def with_proofs(record: dict, drawn: Drawn, *, jobs: int = 1, scheduler: str | None = None) -> dict:
    """A record of the engine's mutants in which the proofs have judged the open ones.

    Parameters
    ----------
    record : dict
        See :func:`cdma.verify.mutation.engine.campaign.record`.
    drawn : Drawn
        All mutants that were drawn.
    jobs, scheduler
        See :func:`put_to_proofs`.

    Returns
    -------
    dict
        With ``noticed``, a count, and ``noticed`` as the verdict of such survivors. They are among
        the faults that are found: ``score``, ``low`` and ``high``. Others that are proven to be no
        faults count as equivalent.
    """
    where = {"jobs": jobs, "scheduler": scheduler}
    left = {each["number"] for each in record["survivors"] if each["verdict"] == OPEN}
    # Those of a component follow each other: its netlists are kept in memory.
    mutants = sorted(
        (each for each in drawn.mutants if each.number in left), key=lambda each: each.module
    )
    found = {each.number: each for each in put_to_proofs(drawn, mutants, **where)}
    unnoticed = [
        each for each in mutants if each.number not in found or not found[each.number].is_noticed
    ]
    parts = without_effect(drawn, unnoticed, **where)
    survivors = []
    for each in record["survivors"]:
        number = each["number"]
        judged = found.get(number)
        if number in parts:
            known = f"changes no output of {parts[number]}"
            each = {**each, "verdict": EQUIVALENT, "known": known}
        elif number in left:
            each = {**each, "known": str(judged) if judged else "no proof has its cell"}
            if judged and judged.is_noticed:
                each["verdict"] = "noticed"
        survivors.append(each)
    noticed = sum(each.is_noticed for each in found.values())
    equivalent = record[EQUIVALENT] + len(parts)
    faults = record["mutants"] - equivalent
    score = (record["killed"] + noticed) / faults
    low, high = interval(record["killed"] + noticed, faults)
    return {
        **record,
        "noticed": noticed,
        EQUIVALENT: equivalent,
        "open": record["open"] - noticed - len(parts),
        "score": score,
        "low": round(low, 4),
        "high": round(high, 4),
        "survivors": survivors,
    }


def without_effect(
    drawn: Drawn,
    mutants: Iterable[Mutant],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    cache: str | None = None,
) -> dict[int, str]:
    """Numbers of those mutants that are proven to change no output of the part that they are in,
    and the path of the part. Parameters as of :func:`put_to_proofs`."""
    packed = Packed(drawn)
    tasks = [Task(f"part of mutant {each.number}", (packed, each, cache), 1) for each in mutants]
    found = {}
    with closing(sweep(_part, tasks, jobs=jobs, scheduler=scheduler)) as outcomes:
        for outcome in in_order(tasks, outcomes):
            if outcome.error is not None:
                raise outcome.error
            number, path = outcome.value
            if path:
                found[number] = path
    return found


def _part(task):
    packed, mutant, cache = task
    return mutant.number, unchanged(packed.value, mutant, cache_folder(cache, "mutation"))


def judge(task: tuple[Packed, Mutant, str | None]) -> Judged | None:
    """The outcome of a mutant: of the first proof and size that fails, else of the first with its
    cell, if there is one."""
    packed, mutant, cache = task
    first = None
    for path, name in places_of(mutant):
        for judged in _judged(packed, mutant, path, name, cache):
            if judged.is_noticed:
                return judged
            first = first or judged
    return first


def _judged(packed, mutant, path, name, cache):
    """The outcomes of a proof, in each of its sizes that has the cell."""
    proof = registry()[name]
    for size in proof.sizes:
        component = _component(packed, path, name, size, cache_folder(cache, "proofs"))
        command = component.command(mutant)
        if command:
            yield Judged(mutant.number, name, size, *_outcome(proof, size, command, cache))


@lru_cache(maxsize=16)
def _component(packed: Packed, path: str, name: str, size: str, scratch: Path):
    text = netlist.rtlil_of(registry()[name].make(size))
    return ResizedComponent(packed.value, path, netlist.flat(text, scratch))


def _outcome(proof: Proof, size: str, command: str, cache):
    """Outcome and cycle. Covers do not matter: a fault may keep a design from reaching them."""
    verdict = proof.prove(
        size, command=command, cache=cache and Path(cache), seconds=_SECONDS, reach=0
    )
    if verdict.outcome == "refuted":
        return REFUTED, verdict.cycle
    if verdict.outcome == "proven":
        return HOLDS, None
    return (BROKEN if proof.mode == prover.INDUCTION else OPEN), None
