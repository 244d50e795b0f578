"""Mutation testing: whether the regression tells a unit from its mutants.

All mutants of a unit are in one compiled model (:mod:`cdma.verify.mutation.mutants`). Each is
played the trials of :mod:`cdma.verify.mutation.trials` until something is wrong: a rule of the
stream, a byte, a status, a number of beats, the cycles that are on record. A mutant that hangs is
found by the model's patience. Most die in the first trials; the others continue in a model of their
own, which is faster, and are played packets whose counters are advanced
(:mod:`cdma.verify.mutation.long_packets`). Some are no faults at all: nobody at the ports can tell
them from the unit, which :mod:`cdma.verify.mutation.proof` proves, cheap proofs first.
"""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cdma import sim, verify
from cdma.errors import SimulationError
from cdma.files import write_text
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled.unit import ModelUnit
from cdma.toolchain.cache import cache_folder, digest
from cdma.verify.mutation import mutants, proof
from cdma.verify.mutation.long_packets import LongPackets
from cdma.verify.mutation.player import KILLED, OPEN, Fate, Player, fate_of
from cdma.verify.mutation.proof import EQUIVALENT
from cdma.verify.mutation.trials import first_trials, late_trials, trials

#: Bounds on a search in ABC, by steps and side by side.
STEP_SECONDS, PROOF_SECONDS = 15, 90


@dataclass(frozen=True)
class Outcome:
    """What became of a unit's mutants, and the seconds of wall time that it took."""

    unit: str
    config: Config
    fates: list[Fate]
    seconds: float

    def of(self, verdict: str) -> list[Fate]:
        """Those of one verdict."""
        return [fate for fate in self.fates if fate.verdict == verdict]

    @property
    def score(self) -> float:
        """Share of the faults that were killed; what is proven equivalent is none."""
        faults = len(self.fates) - len(self.of(EQUIVALENT))
        return len(self.of(KILLED)) / faults if faults else 1.0


def mutate(
    unit: str,
    config: Config,
    count: int,
    seed: int = 0,
    *,
    jobs: int = 2,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Make mutants of a unit and find out what becomes of them.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : Config
        Its size.
    count : int
        How many mutants.
    seed : int
        Seeds which, and all that is random in the stimulus.
    jobs : int
        Threads.
    cache
        See :func:`cdma.toolchain.cache.cache_folder`.
    progress : callable or None
        Told about once a second how far the run is.

    Raises
    ------
    UserError
        When a tool is missing or fails, or the unit has not so many mutants.
    SimulationError
        When the unit without a fault fails a trial.
    """
    start = time.monotonic()
    run = _Run(unit, config, seed, jobs, cache, progress or (lambda text: None))
    run.draw(count)
    run.play("first trials", first_trials)
    if run.left():
        run.look("same graphs", lambda judge: judge.same_graph)
        run.play("trials", trials)
        run.move_counters()
        run.look("same steps", lambda judge: lambda mutant: judge.same_steps(mutant, STEP_SECONDS))
        run.play("late trials", late_trials)
        run.look("same runs", lambda judge: lambda mutant: judge.same_runs(mutant, PROOF_SECONDS))
    return Outcome(unit, config, list(run.fates.values()), time.monotonic() - start)


class _Run:
    """The stages of a run: each decides about the mutants that are still open."""

    def __init__(self, unit, config, seed, jobs, cache, progress):
        self.unit, self.config, self.seed, self.jobs = unit, config, seed, jobs
        self.cache, self.progress = cache, progress
        self.folder = cache_folder(cache, "mutation")
        self._woven, self._judge = {}, None

    def draw(self, count):
        self.progress("drawing mutants")
        self._drawn = mutants.draw(self.unit, self.config, count, self.seed, self.folder)
        self.fates = {mutant: Fate(mutant, OPEN) for mutant in self._drawn.mutants}

    def left(self):
        return [mutant for mutant, fate in self.fates.items() if fate.verdict == OPEN]

    def play(self, name, make_trials):
        def prepare():
            verilog = self._weave().verilog
            model = ModelUnit(
                self.unit, self.config, verilog, self.cache, self.progress, has_mutants=True
            )
            return Player(model, make_trials(self.unit, self.config, self.seed)).fate

        self._decide(name, prepare)

    def move_counters(self):
        def prepare():
            graph = self._judging().graph
            packets = {"moved counters": {}}
            if self.unit == "decompressor":
                packets["moved counters, packet cut"] = {"is_cut": True}
            plays = [
                (name, LongPackets(self.unit, self.config, graph, self.seed, **options))
                for name, options in packets.items()
            ]
            for name, played in plays:
                problem = played.fault()
                if problem:
                    raise SimulationError(f"{name}: the unit without a fault: {problem}")
            return lambda mutant: fate_of(mutant, plays)

        self._decide("moved counters", prepare)

    def look(self, name, proof):
        def prepare():
            decide = proof(self._judging())

            def fate(mutant):
                known = decide(mutant)
                verdict = EQUIVALENT if known == EQUIVALENT else OPEN
                return Fate(mutant, verdict, reason="" if verdict == EQUIVALENT else known)

            return fate

        self._decide(name, prepare)

    def _weave(self):
        """All mutants while most are open, then those that the first trials left."""
        is_first = len(self.left()) == len(self.fates)
        if is_first not in self._woven:
            self._woven[is_first] = mutants.weave(self._drawn, self.left(), self.folder)
        return self._woven[is_first]

    def _judging(self):
        if self._judge is None:
            self._judge = proof.Judge(self._weave(), self.folder)
        return self._judge

    def _decide(self, name, prepare):
        """Ask what becomes of those that are still open, unless that is kept."""
        left = self.left()
        file = self.folder / f"{digest(name, self._drawn.rtlil, self.seed, _sources())}.fates.json"
        kept = json.loads(file.read_text()) if file.is_file() else {}
        for mutant in left:
            if mutant.command in kept:
                self.fates[mutant] = Fate(mutant, *kept[mutant.command])
        missing = [mutant for mutant in left if mutant.command not in kept]
        if not missing:
            return
        fate_of, told = prepare(), time.monotonic()
        with ThreadPoolExecutor(self.jobs) as pool:
            for index, fate in enumerate(pool.map(fate_of, missing), 1):
                self.fates[fate.mutant] = fate
                kept[fate.mutant.command] = [fate.verdict, fate.trial, fate.reason]
                if index == len(missing) or time.monotonic() - told > 2:
                    told = time.monotonic()
                    write_text(file, json.dumps(kept))
                    gone = sum(self.fates[mutant].verdict != OPEN for mutant in missing)
                    self.progress(
                        f"{name}: {index:,} of {len(missing):,} mutants, {index - gone:,} left"
                    )


def _sources():
    """What decides about mutants: how they are made and what they are played."""
    folders = (Path(sim.__file__).parent, Path(verify.__file__).parent)
    files = sorted(file for folder in folders for file in folder.rglob("*"))
    return [file.read_text() for file in files if file.suffix in (".py", ".cpp", ".h")]
