"""Run a function on many files or configurations, on this machine or on a Dask cluster."""

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
        Name in reports.
    argument : object
        Argument of the function. The argument is pickled.
    weight : int
        Share of the work, in any unit.
    """

    name: str
    argument: Any
    weight: int = 1


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: the value that the function returned, or the error that it raised."""

    task: Task
    value: Any = None
    error: Exception | None = None


class TaskLostError(UserError):
    """The process or the workers of a task ended abruptly, twice."""


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

    A task whose process or workers are lost runs once more, alone and after all other tasks, so
    that a task that crashes its process does not stop other tasks. If the task is lost again, it
    fails. Dask itself runs a task on three more workers before the task counts as lost.

    Parameters
    ----------
    function : callable
        Function that each process or worker can import by name. On a cluster, this package must be
        installed, and files must have the same paths as here. A script that uses processes must
        guard its main part with ``if __name__ == "__main__":``, as for ``multiprocessing``.
    tasks : iterable of Task
        Each task is read when it can begin. On a cluster, all tasks can begin at once.
    jobs : int
        Number of processes or threads without a scheduler.
    scheduler : str or None
        Address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``.
    threads : bool
        Use threads of this process in place of processes: for tasks that wait for other programs,
        or for a single short job.
    then : callable or None
        Called with each outcome without an error. Returns tasks that can begin now. They begin
        before all other tasks.
    progress : callable or None
        Called several times a second with the completed weight: the weight of the tasks that have
        ended, and for processes also the weight that running tasks reported with ``pools.advance``.

    Yields
    ------
    Outcome
        One for each task, in the order in which the tasks end, even if the cluster is lost.

    Raises
    ------
    UserError
        When no scheduler answers, or Dask is not installed.
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
    """Yield outcomes in the order of their tasks, each as soon as the earlier ones are there."""
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
    """Begin tasks for a short time. Returns whether no more tasks can begin now."""
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
    except Exception as error:  # the caller handles errors of the function
        return Outcome(task, error=error)
