"""Run trials on a unit and its mutants in one compiled model."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cdma.errors import SimulationError
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit, Played
from cdma.sim.result import Scenario
from cdma.sim.units import BENCHES
from cdma.verify.cycles import cycles_of
from cdma.verify.mutation.mutants import Mutant
from cdma.verify.mutation.trials import Trial

KILLED, OPEN = "killed", "open"


@dataclass(frozen=True)
class MutantResult:
    """Result of a mutant.

    Members
    -------
    mutant : the fault
    verdict : ``killed``, ``equivalent`` (proven) or ``open``
    trial : name of the trial that killed the mutant
    reason : the failed check; for an open mutant, what is known about it
    """

    mutant: Mutant
    verdict: str
    trial: str = ""
    reason: str = ""


class Player:
    """Runs trials on a unit and its mutants.

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
        self._trials = [(trial.name, Prepared(model, trial)) for trial in trials]

    def result(self, mutant: Mutant) -> MutantResult:
        """Run trials until the mutant fails one."""
        return result_of(mutant, self._trials)


def result_of(mutant: Mutant, trials: Iterable[tuple[str, object]]) -> MutantResult:
    """Run trials until the mutant fails one.

    ``trials`` are pairs of a name and an object. Its method ``fault(number)`` returns the failed
    check of a mutant, or an empty text.
    """
    for name, trial in trials:
        reason = trial.fault(mutant.number)
        if reason:
            return MutantResult(mutant, KILLED, name, reason)
    return MutantResult(mutant, OPEN)


class Prepared:
    """A trial, and the result of the unit without a fault."""

    def __init__(self, model, trial):
        self._check = trial.check or (lambda played: "")
        bench = BENCHES[model.unit](model.config)
        stimulus = bench.stimulus(trial.scenario)
        arguments = {**play.arguments(stimulus), "cycles": trial.cycles}
        self._play = lambda mutant: model.play(**arguments, mutant=mutant)
        self._expected = played = self._play(0)
        problem = played.failure or self._check(played)
        self._is_timed = trial.is_timed
        self._most_cycles = None
        if trial.cycles is None:
            result = bench.result(trial.scenario, play.report(stimulus, played))
            problem = problem or result.problem
            self._most_cycles = result.bound
        if trial.lost is not None:
            undisturbed = bench.stimulus(Scenario(trial.scenario.packets))
            calm = model.play(**play.arguments(undisturbed))
            self._most_cycles = _cycles(calm) + trial.lost
        if problem:
            raise SimulationError(f"{trial.name}: the unit without a fault: {problem}")

    def fault(self, mutant: int) -> str:
        """The failed check of a mutant, or an empty text."""
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
        if self._is_timed and cycles_of(played) != cycles_of(self._expected):
            return "other cycles than are on record"
        return self._check(played)


def _cycles(played: Played) -> int:
    first, last = played.ports["s_axis"].packets[0], played.ports["m_axis"].packets[-1]
    return int(last["last_cycle"] - first["first_cycle"]) + 1
