"""Mutation testing: whether the regression's stimulus tells a unit from its mutants.

All mutants of a unit are in one compiled model (:mod:`cdma.synth.mutants`). Each is played the
trials of :mod:`cdma.sim.mutate_trials` until something is not as it should be: a rule of the
stream, a byte, a status, a number of beats or of cycles. A mutant that hangs is found by the
model's patience. Most die in the first trials; the others go on in a model of their own, which is
faster. Some are no faults at all: nobody at the ports can tell them from the unit, which
:mod:`cdma.sim.mutate_proof` proves, cheap proofs first.
"""

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from cdma.hdl.config import Config
from cdma.sim import model_job, mutate_proof
from cdma.sim.model_unit import ModelUnit, Played
from cdma.sim.mutate_proof import EQUIVALENT
from cdma.sim.mutate_trials import Trial, first_trials, long_trials, trials
from cdma.sim.result import Scenario
from cdma.sim.tools import SimulationError, cache_folder
from cdma.sim.units import BENCHES
from cdma.synth import mutants
from cdma.synth.mutants import Mutant

KILLED, OPEN = "killed", "open"
#: Bound on a search that is thorough.
PROOF_SECONDS = 15


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Members
    -------
    mutant : the fault
    verdict : ``killed``; ``equivalent``, proven; or ``open``
    trial : name of the trial that killed it
    reason : what was wrong; of an open one what is known of it
    """

    mutant: Mutant
    verdict: str
    trial: str = ""
    reason: str = ""


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
        See :func:`cdma.sim.tools.cache_folder`.
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
    progress = progress or (lambda text: None)
    scratch = cache_folder(cache)
    progress("drawing mutants")
    drawn = mutants.draw(unit, config, count, seed, scratch)
    mutated = mutants.weave(drawn, drawn.mutants, scratch)
    fates = {mutant: Fate(mutant, OPEN) for mutant in drawn.mutants}

    def step(name, decide):
        """Ask what becomes of those that are still open."""
        left = [mutant for mutant, fate in fates.items() if fate.verdict == OPEN]
        told = time.monotonic()
        with ThreadPoolExecutor(jobs) as pool:
            for index, fate in enumerate(pool.map(decide, left), 1):
                fates[fate.mutant] = fate
                if index == len(left) or time.monotonic() - told > 1:
                    told = time.monotonic()
                    gone = sum(fates[mutant].verdict != OPEN for mutant in left)
                    progress(f"{name}: {index:,} of {len(left):,} mutants, {index - gone:,} left")

    def play(name, mutated, trials):
        model = ModelUnit(unit, config, mutated.verilog, cache, progress, has_mutants=True)
        step(name, Player(model, trials).fate)

    def prove(name, proof):
        def fate(mutant):
            known = proof(mutant)
            verdict = EQUIVALENT if known == EQUIVALENT else OPEN
            return Fate(mutant, verdict, reason="" if verdict == EQUIVALENT else known)

        step(name, fate)

    def left():
        return [mutant for mutant, fate in fates.items() if fate.verdict == OPEN]

    play("first trials", mutated, first_trials(unit, config, seed))
    judge = mutate_proof.Judge(mutated, scratch)
    prove("same graphs", lambda mutant: EQUIVALENT if judge.same_graph(mutant) else "undecided")
    if left():
        fewer = mutants.weave(drawn, left(), scratch)
        play("trials", fewer, trials(unit, config, seed))
        batches = judge.batches(left())
        with ThreadPoolExecutor(jobs) as pool:
            for index, equal in enumerate(pool.map(judge.same_registers, batches), 1):
                fates |= {mutant: Fate(mutant, EQUIVALENT) for mutant in equal}
                progress(f"same registers: {index} of {len(batches)} batches, {len(left())} left")
        play("long trials", fewer, long_trials(unit, config, seed))
        prove("proofs", lambda mutant: judge.search(mutant, PROOF_SECONDS))
    return Outcome(unit, config, list(fates.values()), time.monotonic() - start)


class Player:
    """Plays trials on a unit and its mutants.

    Parameters
    ----------
    model : ModelUnit
        The unit with its mutants.
    trials : iterable of Trial

    Raises
    ------
    SimulationError
        When the unit without a fault fails a trial.
    """

    def __init__(self, model: ModelUnit, trials: Iterable[Trial]):
        self._trials = [_Prepared(model, trial) for trial in trials]

    def fate(self, mutant: Mutant) -> Fate:
        """Play until the mutant fails a trial, or to the last."""
        for trial in self._trials:
            reason = trial.fault(mutant.number)
            if reason:
                return Fate(mutant, KILLED, trial.name, reason)
        return Fate(mutant, OPEN)


class _Prepared:
    """A trial, and what the unit without a fault makes of it."""

    def __init__(self, model, trial):
        self.name = trial.name
        self._check = trial.check or (lambda played: "")
        bench = BENCHES[model.unit](model.config)
        stimulus = bench.stimulus(trial.scenario)
        arguments = {**model_job.arguments(stimulus), "cycles": trial.cycles}
        self._play = lambda mutant: model.play(**arguments, mutant=mutant)
        self._expected = played = self._play(0)
        problem = played.failure or self._check(played)
        self._most_cycles = None
        if trial.cycles is None:
            result = bench.result(trial.scenario, model_job.report(stimulus, played))
            problem = problem or result.problem
            self._most_cycles = result.bound
        if trial.lost is not None:
            undisturbed = bench.stimulus(Scenario(trial.scenario.packets))
            calm = model.play(**model_job.arguments(undisturbed))
            self._most_cycles = _cycles(calm) + trial.lost
        if problem:
            raise SimulationError(f"{trial.name}: the unit without a fault: {problem}")

    def fault(self, mutant: int) -> str:
        """What is wrong with a mutant, or nothing."""
        played = self._play(mutant)
        if played.failure:
            return played.failure
        for prefix, want in self._expected.ports.items():
            got = played.ports[prefix]
            for what in ("end", "beats"):
                if not np.array_equal(got.packets[what], want.packets[what]):
                    return f"{prefix}: packets of other {what}"
            if not np.array_equal(got.data, want.data):
                return f"{prefix}: other bytes"
        if self._most_cycles is not None and _cycles(played) > self._most_cycles:
            return f"{_cycles(played)} cycles, at most {self._most_cycles} expected"
        return self._check(played)


def _cycles(played: Played) -> int:
    first, last = played.ports["s_axis"].packets[0], played.ports["m_axis"].packets[-1]
    return int(last["last_cycle"] - first["first_cycle"]) + 1
