"""A function over many files or configurations, on the processors here or on a Dask cluster."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from cdma.errors import UserError
from cdma.sweep.pools import ClusterPool, PoolLostError, ProcessPool

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Task:
    """One call of the function.

    Parameters
    ----------
    name : str
        What a report calls it.
    argument : object
        What the function is given; it is pickled.
    weight : int
        Its share of the work, in any unit.
    """

    name: str
    argument: Any
    weight: int = 1


@dataclass(frozen=True)
class Outcome:
    """What became of a task: the value that the function gave, or the error that it raised."""

    task: Task
    value: Any = None
    error: Exception | None = None


class TaskLostError(UserError):
    """The process or the workers that ran a task ended abruptly, and did so again."""


def sweep(
    function: Callable[[Any], Any],
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Outcome]:
    """Call ``function`` with the argument of every task, in parallel.

    A task whose process or workers are lost runs once more, after all others and alone, so that one
    that brings its process down takes no other along; then it counts as failed. Dask by itself
    gives a task to another worker three times before it calls the task lost.

    Parameters
    ----------
    function : callable
        Can be imported by name where it runs. On a cluster this package must be installed, and
        files must have the same path as here. A script that sweeps over processes must guard its
        main part with ``if __name__ == "__main__":``, as for ``multiprocessing``.
    tasks : sequence of Task
    jobs : int
        Processes, when there is no scheduler.
    scheduler : str or None
        Address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``.
    progress : callable or None
        Called some times a second with the weight that is done: of the tasks that have ended, and
        with processes also what the running ones have told by ``pools.advance``.

    Yields
    ------
    Outcome
        One for each task, in the order in which they end; also when the cluster is lost halfway.

    Raises
    ------
    UserError
        When there is no such scheduler, or Dask is not installed.
    """
    ended = told = 0
    total = sum(task.weight for task in tasks)
    with closing(ProcessPool(jobs) if scheduler is None else ClusterPool(scheduler)) as pool:

        def report():
            nonlocal told
            told = max(told, ended, min(total, pool.advanced))
            if progress:
                progress(told)

        lost = []
        for outcome in _run(pool, function, tasks, pool.capacity, report):
            if isinstance(outcome.error, TaskLostError):
                lost.append(outcome.task)
                continue
            ended += outcome.task.weight
            yield outcome
        for outcome in _run(pool, function, lost, 1, report):
            ended += outcome.task.weight
            yield outcome
        report()


def _run(pool, function, tasks, capacity: int, report) -> Iterator[Outcome]:
    """Run ``tasks``, at most ``capacity`` at a time."""
    waiting = deque(tasks)
    running = {}
    while waiting or running:
        try:
            while waiting and len(running) < capacity:
                future = pool.submit(function, waiting[0].argument)
                running[future] = waiting.popleft()
            done, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                pool.check()
        except PoolLostError as error:
            yield from (Outcome(task, error=error) for task in (*running.values(), *waiting))
            return
        for future in done:
            yield _outcome(pool, running.pop(future), future)
        report()


def _outcome(pool, task: Task, future) -> Outcome:
    try:
        return Outcome(task, future.result())
    except pool.crashes:
        return Outcome(task, error=TaskLostError(pool.crash_message))
    except CancelledError:
        return Outcome(task, error=UserError("cancelled by the cluster"))
    except Exception as error:  # whatever the function raised is for the caller to judge
        return Outcome(task, error=error)
