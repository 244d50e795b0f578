"""A function over many files or configurations, on the processors here or on a Dask cluster."""

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from cdma.errors import UserError
from cdma.sweep.pools import ClusterPool, PoolLostError, ProcessPool, ThreadPool

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
    tasks: Iterable[Task],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    threads: bool = False,
    then: Callable[[Outcome], Iterable[Task]] | None = None,
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
    tasks : iterable of Task
        Taken as they can begin; on a cluster all can.
    jobs : int
        Processes or threads, when there is no scheduler.
    scheduler : str or None
        Address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``.
    threads : bool
        Threads of this process in place of processes: for tasks that wait for other programs, and
        for a single job that is not worth a process.
    then : callable or None
        Called with each outcome that is no error; gives tasks that can begin now, which stand
        before all others.
    progress : callable or None
        Called some times a second with the weight that is done: of the tasks that have ended, and
        with processes also what the running ones reported by ``pools.advance``.

    Yields
    ------
    Outcome
        One for each task, in the order in which they end; also when the cluster is lost halfway.

    Raises
    ------
    UserError
        When there is no such scheduler, or Dask is not installed.
    """
    ended = reported = begun = 0
    with closing(_pool(jobs, scheduler, threads)) as pool:

        def report():
            nonlocal reported
            reported = max(reported, ended, min(begun, pool.advanced))
            if progress:
                progress(reported)

        def count(task):
            nonlocal begun
            begun += task.weight

        lost = []
        for outcome in _run(pool, function, tasks, pool.capacity, then, count, report):
            if isinstance(outcome.error, TaskLostError):
                lost.append(outcome.task)
                continue
            ended += outcome.task.weight
            yield outcome
        for outcome in _run(pool, function, lost, 1, then, lambda task: None, report):
            ended += outcome.task.weight
            yield outcome
        report()


def in_order(tasks: Sequence[Task], outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """Give outcomes in the order of their tasks, each as soon as those before it are there."""
    early = {}
    for task in tasks:
        while task.name not in early:
            outcome = next(outcomes)
            early[outcome.task.name] = outcome
        yield early.pop(task.name)


def _pool(jobs, scheduler, threads):
    if scheduler is not None:
        return ClusterPool(scheduler)
    return ThreadPool(jobs) if threads else ProcessPool(jobs)


def _run(pool, function, tasks, capacity: int, then, count, report) -> Iterator[Outcome]:
    """Run ``tasks``, at most ``capacity`` at a time."""
    source, waiting = iter(tasks), deque()
    running = {}
    while True:
        try:
            is_done = _begin(pool, function, source, waiting, running, capacity, count)
            if not running:
                return
            seconds = _POLL_SECONDS if is_done else 0
            done, _ = wait(running, timeout=seconds, return_when=FIRST_COMPLETED)
            if not done:
                pool.check()
        except PoolLostError as error:
            left = (*running.values(), *waiting, *source)
            yield from (Outcome(task, error=error) for task in left)
            return
        for future in done:
            outcome = _outcome(pool, running.pop(future), future)
            if then and outcome.error is None:
                waiting.extendleft(reversed(list(then(outcome))))
            yield outcome
        report()


def _begin(pool, function, source, waiting, running, capacity, count) -> bool:
    """Begin tasks for a moment; gives whether no more can begin now."""
    until = time.monotonic() + _POLL_SECONDS
    while len(running) < capacity:
        if not waiting:
            waiting.extend(itertools.islice(source, 1))
        if not waiting:
            return True
        future = pool.submit(function, waiting[0].argument)
        count(waiting[0])
        running[future] = waiting.popleft()
        if time.monotonic() > until:
            return False
    return True


def _outcome(pool, task: Task, future) -> Outcome:
    try:
        return Outcome(task, future.result())
    except pool.crashes:
        return Outcome(task, error=TaskLostError(pool.crash_message))
    except CancelledError:
        return Outcome(task, error=UserError("cancelled by the cluster"))
    except Exception as error:  # whatever the function raised is for the caller to judge
        return Outcome(task, error=error)
