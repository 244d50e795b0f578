"""The stages of mutation testing, in local threads or on workers of a cluster.

Each process prepares a stage once: it builds the model and runs the trials on the unit without a
fault, or it prepares the graph for proofs. Then it processes one mutant after the other, or all of
a group in lanes. A task of a sweep is a group of mutants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from cdma.errors import SimulationError
from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled.unit import ModelUnit
from cdma.sweep import Packed
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import dead, trials
from cdma.verify.mutation.lanes import LANES
from cdma.verify.mutation.lanes.unit import UnitLanes
from cdma.verify.mutation.long_packets import LongPackets
from cdma.verify.mutation.mutants import Mutant
from cdma.verify.mutation.player import KILLED, OPEN, MutantResult, Player, result_of
from cdma.verify.mutation.proof import EQUIVALENT, Judge

#: Function from mutants to their results.
Decide = Callable[[list[Mutant]], list[MutantResult]]

#: Stages that run trials on the compiled model.
PLAYED = {
    "first trials": trials.first_trials,
    "trials": trials.trials,
    "late trials": trials.late_trials,
}
#: Stages that run trials on a model with a lane for each mutant.
IN_LANES = {
    "first trials, in lanes": trials.first_trials,
    "trials, in lanes": trials.trials,
    "late trials, in lanes": trials.late_trials,
}
#: Stage that looks for faults that reach no port or change no step. All other stages use the graph.
DEAD = "no step differs"
#: Mutants per task, for stages that need little time per mutant. The default is one.
GROUPS = {
    "first trials": 20,
    "same graphs": 20,
    "trials": 2,
    "moved counters": 4,
    DEAD: 1 << 16,
    **dict.fromkeys(IN_LANES, LANES - 1),
}
#: What is known of a mutant that is left by trials in lanes.
_ALIVE = "no trial kills this mutant, and it changes some step"

_lock, _lanes_lock = Lock(), Lock()


@dataclass(frozen=True)
class Stage:
    """A stage of a run.

    Parameters
    ----------
    name : str
        A key of :data:`PLAYED` or :data:`IN_LANES`, :data:`DEAD`, ``moved counters``,
        ``same graphs``, ``same steps`` or ``same runs``.
    unit, config, seed
        As for :func:`cdma.verify.mutation.campaign.mutate`.
    design : Packed
        The unit with its mutants: Verilog for :data:`PLAYED`; the netlist and mutants for
        :data:`IN_LANES` and :data:`DEAD`; else its ``Graph``.
    cache : str or None
        See :func:`cdma.toolchain.cache.cache_folder`.
    seconds : int
        Time limit of a proof.
    """

    name: str
    unit: str
    config: UnitConfig
    seed: int
    design: Packed
    cache: str | None = None
    seconds: int = 0


def decide(group: tuple[Stage, list[Mutant]]) -> list[MutantResult]:
    """Results of a group of mutants in a stage.

    Raises
    ------
    SimulationError
        When the unit without a fault fails a trial.
    UserError
        When a tool is missing or fails.
    """
    stage, mutants = group
    with _lock:  # only one thread prepares the stage
        decided = _prepared(stage)
    return decided(mutants)


@lru_cache(maxsize=1)
def _prepared(stage: Stage) -> Decide:
    if stage.name in IN_LANES:
        return _play_in_lanes(stage)
    if stage.name == DEAD:
        return _look_for_dead(stage)
    if stage.name in PLAYED:
        one = _play(stage)
    elif stage.name == "moved counters":
        one = _move_counters(stage)
    else:
        one = _look(stage)
    return lambda mutants: [one(mutant) for mutant in mutants]


def _play_in_lanes(stage):
    lanes = UnitLanes(*stage.design.value, stage.config, stage.cache)
    trials = list(IN_LANES[stage.name](stage.unit, stage.config, stage.seed))

    def results(mutants):
        found = {}
        with _lanes_lock:  # a model has one set of lanes
            for trial in trials:
                left = [mutant for mutant in mutants if mutant not in found]
                if not left:
                    break
                for mutant, reason in lanes.play(trial, left).items():
                    found[mutant] = MutantResult(mutant, KILLED, trial.name, reason)
        return [found.get(each) or MutantResult(each, OPEN, reason=_ALIVE) for each in mutants]

    return results


def _look_for_dead(stage):
    drawn, _ = stage.design.value

    def results(mutants):
        proven = dead.proven(drawn, mutants, cache_folder(stage.cache, "mutation"))
        return [
            MutantResult(each, EQUIVALENT if each in proven else OPEN, reason=proven.get(each, ""))
            for each in mutants
        ]

    return results


def _play(stage):
    verilog = stage.design.value
    model = ModelUnit(stage.unit, stage.config, verilog, stage.cache, has_mutants=True)
    return Player(model, PLAYED[stage.name](stage.unit, stage.config, stage.seed)).result


def _move_counters(stage):
    packets = {"moved counters": {}}
    if stage.unit == "decompressor":
        packets["moved counters, packet cut"] = {"is_cut": True}
    plays = [
        (name, LongPackets(stage.unit, stage.config, stage.design.value, stage.seed, **options))
        for name, options in packets.items()
    ]
    for name, played in plays:
        problem = played.fault()
        if problem:
            raise SimulationError(f"{name}: the unit without a fault: {problem}")
    return lambda mutant: result_of(mutant, plays)


def _look(stage):
    judge = Judge(stage.design.value, cache_folder(stage.cache, "mutation"))
    prove = {
        "same graphs": judge.same_graph,
        "same steps": lambda mutant: judge.same_steps(mutant, stage.seconds),
        "same runs": lambda mutant: judge.same_runs(mutant, stage.seconds),
    }[stage.name]

    def result(mutant):
        known = prove(mutant)
        is_proven = known == EQUIVALENT
        return MutantResult(
            mutant, EQUIVALENT if is_proven else OPEN, reason="" if is_proven else known
        )

    return result
