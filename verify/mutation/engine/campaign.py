"""Mutation testing of the engine: measure whether its stimulus detects faults.

The mutants are those of :mod:`cdma.verify.mutation.mutants`, hundreds in one model, each in a lane
of its own (:mod:`cdma.verify.mutation.lanes`). All lanes play the same trials
(:mod:`cdma.verify.mutation.engine.trials`). A mutant is killed when one of its outputs differs in
some cycle from the engine without a fault: what that one does is on record, so the regression
notices the fault. Mutants inside the units are left out: they are played by the units' own
campaign. A mutant that no trial kills is equivalent where that is proven of the netlist
(:mod:`cdma.verify.mutation.dead`), else it is open, whether it is a fault or not. Results
are kept, so a run that was interrupted continues, and a later run with more mutants adds to them.
"""

import itertools
import json
import math
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.files import write_text
from cdma.sim.cocotb.ports import Violation
from cdma.sweep import Packed, Task, sweep
from cdma.toolchain.cache import cache_folder, digest, kept_json
from cdma.verify.mutation import dead, mutants
from cdma.verify.mutation.engine.lanes import build_lanes
from cdma.verify.mutation.engine.trials import trials
from cdma.verify.mutation.lanes import LANES
from cdma.verify.mutation.mutants import ENGINE, Drawn, Mutant
from cdma.verify.mutation.player import KILLED, OPEN, MutantResult
from cdma.verify.mutation.proof import EQUIVALENT

#: The first trials kill most mutants, the random ones few more and take the longest. Behind each of
#: these places in the list of trials, a model with fewer lanes plays the mutants that are left.
STAGES = (3, 21, 32)
#: What is known of survivors.
_ALIVE = "no trial kills this mutant"
_UNPROVEN = f"{_ALIVE}, and it changes some step"


@dataclass(frozen=True)
class Setup:
    """What a process needs to play mutants.

    Parameters
    ----------
    config : EngineConfig
    design : Packed
        The netlist, and the mutants that its model has.
    seed : int
    cache : str or None
    """

    config: EngineConfig
    design: Packed
    seed: int
    cache: str | None


def small_engine(lanes: int = 2, word_bits: int = 32) -> EngineConfig:
    """The engine that is mutated: two channels, short stripes and small buffers."""
    return EngineConfig(
        channels=2,
        lanes=lanes,
        word_bits=word_bits,
        stripe_bytes=1024,
        address_bits=33,
        latency=20,
        link_fifo_bytes=2048,
    )


def mutate(
    config: EngineConfig,
    count: int,
    seed: int = 0,
    *,
    sample: int | None = None,
    only: tuple[str, ...] | None = None,
    jobs: int = 2,
    scheduler: str | None = None,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
):
    """Make mutants of the engine and play the trials on them, or on some of them.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine.
    count : int
        Mutants to draw, without those inside the units.
    seed : int
        Seed of the choice of mutants and of the stimulus.
    sample : int or None
        Mutants to play, evenly spread over all. ``None`` is all.
    only : tuple of str or None
        Names of the trials to play. ``None`` is all.
    jobs : int
        Processes, without a scheduler.
    scheduler : str or None
        Address of a Dask scheduler.
    cache, progress
        See :func:`cdma.verify.mutation.campaign.mutate`.

    Returns
    -------
    cdma.verify.mutation.campaign.Outcome

    Raises
    ------
    UserError
        When a tool is missing or fails, or the engine has fewer mutants.
    SimulationError
        When the engine without a fault fails a trial.
    """
    from cdma.verify.mutation.campaign import Outcome, sources

    start, progress = time.monotonic(), progress or (lambda text: None)
    folder = cache_folder(cache, "mutation")
    progress("drawing mutants")
    drawn = draw(config, count, seed, folder)
    played = spread(drawn.mutants, sample)
    file = folder / f"{digest('engine', drawn.rtlil, seed, sources())}.results.json"
    kept = Kept(file)
    names = [each.name for each in trials(config, "", seed)]
    where = {"jobs": jobs, "scheduler": scheduler}
    for first, end in itertools.pairwise((0, *STAGES, len(names))):
        stage = [name for name in names[first:end] if only is None or name in only]
        left = [each for each in played if kept.is_open(each)]
        if first == STAGES[1]:  # those that are no faults need not be played
            _exclude(drawn, kept, left, progress)
            left = [each for each in left if kept.is_open(each)]
        setup = Setup(config, Packed((drawn, left)), seed, None if cache is None else str(cache))
        tasks = list(_tasks(setup, stage, kept, left))
        if tasks:
            build_lanes(drawn, left, cache, progress)
        for name, part, found in _played(tasks, where):
            kept.add(name, part, found)
            number = sum(kept.is_open(each) for each in played)
            progress(f"{name}: {number:,} of {len(played):,} mutants left")
    results = [kept.result(each) for each in played]
    return Outcome(ENGINE, config, results, time.monotonic() - start)


class Kept:
    """Results by mutant, in a file that grows with each trial.

    Attributes
    ----------
    killed : dict
        By the command of a mutant: the trial that killed it, and the reason.
    folder : Path
        Folder of the file.
    """

    def __init__(self, file):
        self._file, self.folder = file, file.parent
        kept = kept_json(file) or {}
        self.killed: dict[str, list[str]] = kept.get("killed", {})
        self._passed = {name: set(each) for name, each in kept.get("passed", {}).items()}
        self._judged = kept.get("judged", {})

    def has_played(self, name: str, mutant: Mutant) -> bool:
        """Whether the result of a trial is known, or does not matter."""
        return mutant.command in self.killed or mutant.command in self._passed.get(name, ())

    def is_open(self, mutant: Mutant) -> bool:
        """Whether the mutant may be a fault that no trial kills."""
        judged = self._judged.get(mutant.command, [OPEN])[0]
        return mutant.command not in self.killed and judged == OPEN

    def is_judged(self, mutant: Mutant) -> bool:
        """Whether a proof was looked for."""
        return mutant.command in self._judged

    def add(self, name: str, part: list[Mutant], found: dict[Mutant, str]) -> None:
        """Add the results of a trial."""
        for mutant in part:
            if mutant in found:
                self.killed.setdefault(mutant.command, [name, found[mutant]])
            else:
                self._passed.setdefault(name, set()).add(mutant.command)
        self._write()

    def judge(self, mutant: Mutant, verdict: str, reason: str) -> None:
        """Add what a proof says."""
        self._judged[mutant.command] = [verdict, reason]
        self._write()

    def result(self, mutant: Mutant) -> MutantResult:
        """What became of a mutant."""
        if mutant.command in self.killed:
            return MutantResult(mutant, KILLED, *self.killed[mutant.command])
        verdict, reason = self._judged.get(mutant.command, [OPEN, _ALIVE])
        return MutantResult(mutant, verdict, reason=reason)

    def _write(self):
        passed = {name: sorted(each) for name, each in self._passed.items()}
        kept = {"killed": self.killed, "passed": passed, "judged": self._judged}
        write_text(self._file, json.dumps(kept))


def draw(config: EngineConfig, count: int, seed: int, folder) -> Drawn:
    """Mutants of the engine without those inside the units, evenly spread over all.

    Parameters and errors as of :func:`cdma.verify.mutation.mutants.draw`.
    """
    drawn = mutants.draw(ENGINE, config, 2 * count, seed, folder)
    own = [each for each in drawn.mutants if is_own(each)]
    return Drawn(ENGINE, drawn.rtlil, spread(own, count))


def is_own(mutant: Mutant) -> bool:
    """Whether the faulty cell is the engine's own, and not one of the units within it.

    The units have mutants of their own (:func:`cdma.verify.mutation.campaign.mutate`), which play
    many more packets. Resets of memories are left out: no memory has one, the cell of Yosys has.
    """
    if mutant.port in ("RD_ARST", "RD_SRST"):
        return False
    return not {"compressor", "decompressor"} & set(mutant.module.split("."))


def spread(drawn: list[Mutant], sample: int | None) -> list[Mutant]:
    """A part of the mutants, evenly spread."""
    if sample is None or sample >= len(drawn):
        return list(drawn)
    return [drawn[k * len(drawn) // sample] for k in range(sample)]


def _tasks(setup, names, kept, played):
    """A task for each trial and each group of mutants that fits the lanes."""
    for name in names:
        left = [each for each in played if not kept.has_played(name, each)]
        for at in range(0, len(left), LANES - 1):
            part = left[at : at + LANES - 1]
            yield Task(f"{name}, {len(part)} mutants", (setup, name, part), len(part))


def _played(tasks, where):
    with closing(sweep(decide, tasks, **where)) as outcomes:
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            yield outcome.value


def decide(task: tuple[Setup, str, list[Mutant]]) -> tuple[str, list[Mutant], dict[Mutant, str]]:
    """Play a trial with a mutant in each lane: the trial, the mutants, and those it kills.

    Raises
    ------
    SimulationError
        When the engine without a fault fails the trial.
    """
    setup, name, part = task
    lanes = build_lanes(*setup.design.value, setup.cache)
    found = trials(setup.config, lanes.compiled, setup.seed, setup.cache)
    (trial,) = (trial for trial in found if trial.name == name)
    lanes.choose(part)
    try:
        trial.play()
    except (Violation, SimulationError) as error:
        raise SimulationError(f"{name}: the engine without a fault: {error}") from None
    return name, part, lanes.found(part)


def _exclude(drawn, kept, left, progress):
    """Look for proofs that survivors are no faults. Those that were looked at before stay."""
    left = [each for each in left if not kept.is_judged(each)]
    if not left:
        return
    progress(f"looking for proofs of {len(left)} survivors")
    proven = dead.proven(drawn, left, kept.folder)
    for mutant in left:
        verdict = EQUIVALENT if mutant in proven else OPEN
        kept.judge(mutant, verdict, proven.get(mutant, _UNPROVEN))


def record(outcome, seed: int, count: int) -> dict:
    """An outcome as numbers and texts: as of a unit, with the interval of the share for all.

    ``drawn`` is the number of mutants of which those in ``mutants`` were played. The interval is of
    the faults: mutants that are proven equivalent are none.
    """
    from cdma.verify.mutation import report

    made = report.record(outcome, seed)
    low, high = interval(made[KILLED], made["mutants"] - made[EQUIVALENT])
    return made | {"drawn": count, "low": round(low, 4), "high": round(high, 4)}


def interval(killed: int, played: int) -> tuple[float, float]:
    """Interval of the share of killed mutants with a confidence of 95 % (Wilson, 1927)."""
    z = 1.96
    share, extra = killed / played, z * z / played
    middle = (share + extra / 2) / (1 + extra)
    half = z / (1 + extra) * math.sqrt(share * (1 - share) / played + extra / (4 * played))
    return max(0.0, middle - half), min(1.0, middle + half)
