"""Mutation testing: measure whether the regression detects faults in a unit.

All mutants of a unit are in one model (:mod:`cdma.verify.mutation.mutants`). Each mutant runs the
trials of :mod:`cdma.verify.mutation.trials` until a check fails: a stream rule, a byte, a status,
the number of beats, or the recorded cycles. The time limit of the model detects a mutant that
hangs. The first trials kill most mutants. The others continue in a smaller model, which is faster,
and run packets with advanced counters (:mod:`cdma.verify.mutation.long_packets`). Some mutants are
no faults: :mod:`cdma.verify.mutation.proof` proves that their outputs equal those of the unit, with
cheap proofs first. Each stage (:mod:`cdma.verify.mutation.stages`) is a sweep over groups of
mutants, in threads or on a cluster.

The units of ZVC+ are large, so hundreds of mutants play the same trial at the same time
(:mod:`cdma.verify.mutation.lanes.unit`). There a mutant is killed when a handshake differs: what
the unit does in each trial is on record (:mod:`cdma.verify.mutation.observed`). Those that change
no step, or reach no port, are no faults (:mod:`cdma.verify.mutation.dead`).
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cdma import sim, verify
from cdma.files import write_text
from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled.unit import ModelUnit
from cdma.sweep import Packed, Task, sweep
from cdma.toolchain.cache import cache_folder, digest, kept_json
from cdma.verify.mutation import mutants, proof, stages
from cdma.verify.mutation.lanes.unit import UnitLanes
from cdma.verify.mutation.player import KILLED, OPEN, MutantResult
from cdma.verify.mutation.proof import EQUIVALENT
from cdma.verify.mutation.stages import Stage

#: Stages, with the time limit of ABC in seconds.
STAGES = {
    "first trials": 0,
    "same graphs": 0,
    "trials": 0,
    "moved counters": 0,
    "same steps": 15,
    "late trials": 0,
    "same runs": 90,
}
#: Stages of units as large as those of ZVC+: with 7,000 registers, a miter takes minutes for each
#: mutant, so hundreds are played at the same time instead.
LARGE_STAGES = {
    "first trials, in lanes": 0,
    stages.DEAD: 0,
    "trials, in lanes": 0,
    "late trials, in lanes": 0,
}


@dataclass(frozen=True)
class Outcome:
    """Results of the mutants of a unit, and the wall time in seconds."""

    unit: str
    config: UnitConfig
    results: list[MutantResult]
    seconds: float

    def of(self, verdict: str) -> list[MutantResult]:
        """Results with this verdict."""
        return [result for result in self.results if result.verdict == verdict]

    @property
    def score(self) -> float:
        """Share of the faults that were killed. Equivalent mutants are no faults."""
        faults = len(self.results) - len(self.of(EQUIVALENT))
        return len(self.of(KILLED)) / faults if faults else 1.0


def mutate(
    unit: str,
    config: UnitConfig,
    count: int,
    seed: int = 0,
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Make mutants of a unit and run all stages on them.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : UnitConfig
        Size of the unit, of any codec.
    count : int
        Number of mutants.
    seed : int
        Seed of the choice of mutants and of the random stimulus.
    jobs : int
        Number of threads, without a scheduler.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the stages.
    cache
        See :func:`cdma.toolchain.cache.cache_folder`.
    progress : callable or None
        Called about once per second with a line of text.

    Raises
    ------
    UserError
        When a tool is missing or fails, or the unit has fewer mutants.
    SimulationError
        When the unit without a fault fails a trial.
    """
    start = time.monotonic()
    where = {"jobs": jobs, "scheduler": scheduler, "threads": True}
    run = _Run(unit, config, seed, cache, where, progress or (lambda text: None))
    run.draw(count)
    for stage, seconds in (STAGES if config.codec == "zvc" else LARGE_STAGES).items():
        run.decide(stage, seconds)
    return Outcome(unit, config, list(run.results.values()), time.monotonic() - start)


class _Run:
    """A run: each stage processes the mutants that are still open."""

    def __init__(self, unit, config, seed, cache, where, progress):
        self.unit, self.config, self.seed = unit, config, seed
        self.cache, self.progress, self._where = cache, progress, where
        self.folder = cache_folder(cache, "mutation")
        self._woven, self._graph = {}, None

    def draw(self, count):
        self.progress("drawing mutants")
        self._drawn = mutants.draw(self.unit, self.config, count, self.seed, self.folder)
        self.results = {mutant: MutantResult(mutant, OPEN) for mutant in self._drawn.mutants}

    def left(self):
        return [mutant for mutant, result in self.results.items() if result.verdict == OPEN]

    def decide(self, name, seconds=0):
        """Run a stage on the open mutants that have no cached result."""
        left = self.left()
        file = self.folder / f"{digest(name, self._drawn.rtlil, self.seed, sources())}.results.json"
        kept = kept_json(file) or {}
        for mutant in left:
            if mutant.command in kept:
                self.results[mutant] = MutantResult(mutant, *kept[mutant.command])
        missing = [mutant for mutant in left if mutant.command not in kept]
        if not missing:
            return
        reported = time.monotonic()
        with closing(self._results(name, seconds, missing)) as results:
            for index, result in enumerate(results, 1):
                self.results[result.mutant] = result
                kept[result.mutant.command] = [result.verdict, result.trial, result.reason]
                if index == len(missing) or time.monotonic() - reported > 2:
                    reported = time.monotonic()
                    write_text(file, json.dumps(kept))
                    gone = sum(self.results[mutant].verdict != OPEN for mutant in missing)
                    self.progress(
                        f"{name}: {index:,} of {len(missing):,} mutants, {index - gone:,} left"
                    )

    def _results(self, name, seconds, missing):
        stage = self._stage(name, seconds)
        size = stages.GROUPS.get(name, 1)
        groups = [missing[at : at + size] for at in range(0, len(missing), size)]
        tasks = [Task(f"{name}, {group[0]}", (stage, group), len(group)) for group in groups]
        with closing(sweep(stages.decide, tasks, **self._where)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                yield from outcome.value

    def _stage(self, name, seconds):
        is_here = self._where["scheduler"] is None  # build once, with progress, for all threads
        if name in stages.IN_LANES or name == stages.DEAD:
            design = (self._drawn, self.left())
            if name in stages.IN_LANES and is_here:
                UnitLanes(*design, self.config, self.cache, self.progress)
        elif name in stages.PLAYED:
            design = self._weave().verilog
            if is_here:
                options = {"progress": self.progress, "has_mutants": True}
                ModelUnit(self.unit, self.config, design, self.cache, **options)
        else:
            self._graph = self._graph or proof.graph(self._weave().rtlil, self.folder)
            design = self._graph
        cache = None if self.cache is None else str(self.cache)
        return Stage(name, self.unit, self.config, self.seed, Packed(design), cache, seconds)

    def _weave(self):
        """Model with all mutants for the first stage, then with the remaining mutants only."""
        is_first = len(self.left()) == len(self.results)
        if is_first not in self._woven:
            self._woven[is_first] = mutants.weave(self._drawn, self.left(), self.folder)
        return self._woven[is_first]


def sources():
    """Sources that influence the results, for the cache key: stimulus, checks and stages."""
    folders = (Path(sim.__file__).parent, Path(verify.__file__).parent)
    files = sorted(file for folder in folders for file in folder.rglob("*"))
    return [file.read_text() for file in files if file.suffix in (".py", ".cpp", ".h")]
