"""Play batches of random jobs, on processes or on a cluster, until one is not as it must be.

Results are used in the order of the batches, so a run gives the same result wherever it runs.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build
from cdma.sweep import Packed, Task, in_order, sweep
from cdma.verify.fuzz.engine.batch import Batch

#: Batches of a task: a few seconds.
TASK_BATCHES = 4
#: Fewer tasks than this run in this process: starting processes would take longer.
_PROCESS_TASKS = 4
#: Jobs of a batch, about.
_BATCH_JOBS = 400


@dataclass
class Outcome:
    """Result of a run.

    Attributes
    ----------
    jobs, batches, cycles : int
        Jobs with a compared completion, batches, and clock cycles.
    kinds, statuses : Counter of str
        Jobs by their kind, and by the name of their status.
    seconds : float
        Wall time.
    problem : str
        First difference, broken rule or hang, or empty.
    failed_batch, failed_round : int or None
        Where the problem is.
    """

    jobs: int = 0
    batches: int = 0
    cycles: int = 0
    kinds: Counter = field(default_factory=Counter)
    statuses: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    problem: str = ""
    failed_batch: int | None = None
    failed_round: int | None = None

    @property
    def faulty(self) -> int:
        """Jobs that ended with another status than OK, as they must."""
        return self.jobs - self.statuses["OK"]


@dataclass(frozen=True)
class Batches:
    """Batches to play: the argument of a task. ``round_`` and ``only`` as in ``Batch.play``."""

    config: EngineConfig
    seed: int
    numbers: range
    verilog: Packed
    round_: int | None = None
    only: int | None = None


@dataclass(frozen=True)
class Played:
    """Result of a batch, with the fields of :class:`Outcome`."""

    number: int
    cycles: int
    kinds: Counter
    statuses: Counter
    problem: str
    failed_round: int | None


def fuzz(
    config: EngineConfig,
    jobs: int,
    seed: int = 0,
    batch: int | None = None,
    *,
    round_: int | None = None,
    only: int | None = None,
    before: Outcome | None = None,
    verilog: str | None = None,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Play random jobs until one is not done as the golden engine says.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine.
    jobs : int
        Least number of jobs, rounded up to whole batches. Those of ``before`` count.
    seed : int
        Seed of all random choices.
    batch, round_, only : int or None
        Play this batch only, this round of it, this job of the round.
    before : Outcome or None
        Outcome of the same with fewer jobs, to continue it.
    verilog : str or None
        Simulated in place of the generated design.
    processes : int
        Most processes. A short run uses only this process.
    scheduler : str or None
        Address of a Dask scheduler to use in place of local processes.
    progress : callable or None
        Called about once per second with a line of text.

    Raises
    ------
    UserError, SimulationError
        See :class:`cdma.sim.engine.model.EngineModel`.
    """
    start = reported = time.monotonic()
    if verilog is None:  # on a cluster only the workers need programs
        generate = build.design if scheduler is None else designs.engine
        verilog = generate(config, None, progress)
    if scheduler is None:  # build once, with progress, before the processes need the model
        build.build(verilog, None, progress)
    outcome, packed = before or Outcome(), Packed(verilog)
    start -= outcome.seconds
    while numbers := _more(jobs, batch, outcome):
        tasks = _tasks(Batches(config, seed, numbers, packed, round_, only))
        workers = min(processes, len(tasks) // _PROCESS_TASKS)
        where = {"jobs": max(1, workers), "scheduler": scheduler, "threads": workers < 2}
        with closing(sweep(play, tasks, **where)) as outcomes:
            for played in _each(in_order(tasks, outcomes)):
                _add(outcome, played)
                outcome.seconds = time.monotonic() - start
                if not _more(jobs, batch, outcome):
                    break
                if progress and time.monotonic() - reported > 1:
                    reported = time.monotonic()
                    progress(f"{outcome.jobs:,} of {jobs:,} jobs, {outcome.cycles:,} cycles")
    return outcome


def play(batches: Batches) -> list[Played]:
    """Play batches one after the other, up to the first that fails."""
    found = []
    for number in batches.numbers:
        try:
            batch = Batch(batches.config, batches.seed, number, batches.verilog.value)
        except Violation as error:
            problem = f"before the first round, {error}"
            found.append(Played(number, 0, Counter(), Counter(), problem, None))
            break
        problem = batch.play(batches.round_, batches.only)
        cycles = batch.model.engine.cycle
        batch.close()
        failed = batch.failed_round
        found.append(Played(number, cycles, batch.kinds, batch.statuses, problem, failed))
        if problem:
            break
    return found


def _tasks(batches: Batches) -> list[Task]:
    first, end = batches.numbers.start, batches.numbers.stop
    parts = [range(at, min(at + TASK_BATCHES, end)) for at in range(first, end, TASK_BATCHES)]
    rest = (batches.verilog, batches.round_, batches.only)
    return [
        Task(
            f"engine {batches.config.name}, batches {part.start} to {part.stop - 1}",
            Batches(batches.config, batches.seed, part, *rest),
            len(part),
        )
        for part in parts
    ]


def _more(jobs, batch, outcome) -> range:
    """Numbers of the next batches, enough to reach the limit; empty when the run is complete."""
    if outcome.problem:
        return range(0)
    if batch is not None:
        return range(batch + outcome.batches, batch + 1)
    left = max(0, jobs - outcome.jobs)
    return range(outcome.batches, outcome.batches + math.ceil(left / _BATCH_JOBS))


def _each(outcomes):
    """Yield the batches of all tasks in order."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        yield from outcome.value


def _add(outcome: Outcome, played: Played) -> None:
    outcome.batches += 1
    outcome.jobs += played.statuses.total()
    outcome.kinds += played.kinds
    outcome.statuses += played.statuses
    outcome.cycles += played.cycles
    if played.problem:
        outcome.problem = f"batch {played.number}, {played.problem}"
        outcome.failed_batch, outcome.failed_round = played.number, played.failed_round
