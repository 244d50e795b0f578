"""Run the tasks of a sweep in threads, in processes, or on the workers of a Dask cluster."""

import os
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import metadata
from multiprocessing import get_context
from threading import Thread, main_thread

from cdma import signals
from cdma.errors import DISTRIBUTION, UserError, require

#: Seconds without a worker after which a cluster counts as lost.
PATIENCE = 60
_CONNECT_SECONDS = 10
_CHECK_SECONDS = 2
#: Seconds in which a task can remove its temporary files.
_GRACE_SECONDS = 5

#: With or without a protocol of Dask. Dask takes seconds to refuse other protocols.
_ADDRESS = re.compile(r"((tcp|tls|wss?|ucx)://)?[^\s/]+:\d+")

_counter = None
_is_busy = False


def advance(weight: int) -> None:
    """Report, from a running task, the weight that was done since its last report."""
    if _counter is not None:
        # Without a lock, because a killed process would keep the lock. An addition may get lost.
        _counter.value += weight


class PoolLostError(UserError):
    """No process or worker is left to run tasks."""


class ThreadPool:
    """Threads of this process.

    Parameters
    ----------
    jobs : int
        Number of threads, at least one.

    Attributes
    ----------
    capacity, crashes
        See ``ProcessPool``. A crash of a thread also ends this process.
    """

    crashes = ()
    crash_message = ""
    advanced = 0  # tasks in threads do not report

    def __init__(self, jobs: int):
        self.capacity = jobs
        self._executor = ThreadPoolExecutor(jobs)

    def submit(self, function: Callable, argument) -> Future:
        """Begin a call."""
        return self._executor.submit(function, argument)

    def check(self) -> None:
        """Threads are never lost."""

    def close(self) -> None:
        """Wait for running tasks, because a thread cannot be stopped."""
        self._executor.shutdown(cancel_futures=True)


class ProcessPool:
    """Processes of this machine.

    Parameters
    ----------
    jobs : int
        Number of processes, at least one.

    Attributes
    ----------
    capacity : int
        Number of tasks to submit at a time. Each submitted task has its own process.
    crashes : tuple of exception types
        Exceptions of a future when the process of its task, or of another task, ended abruptly.
    """

    crashes = (BrokenProcessPool,)
    crash_message = "its process ended abruptly, twice (out of memory?)"

    def __init__(self, jobs: int):
        self.capacity = jobs
        # Not "fork": the parent may have threads, and a fork would copy their locks.
        self._context = get_context("spawn")
        self._counter = self._context.RawValue("q", 0)
        # No data is sent: the pipe closes when this pool closes or this process ends.
        self._listener, self._lifeline = self._context.Pipe(duplex=False)
        self._executor = self._open()

    @property
    def advanced(self) -> int:
        """Weight that tasks reported."""
        return self._counter.value

    def submit(self, function: Callable, argument) -> Future:
        """Begin a call."""
        try:
            return self._executor.submit(_call, function, argument)
        except BrokenProcessPool:
            self._executor.shutdown()
            self._executor = self._open()
            return self._executor.submit(_call, function, argument)

    def check(self) -> None:
        """A lost process is replaced at the next task."""

    def close(self) -> None:
        """End the processes and their tasks, and wait until they have ended."""
        self._lifeline.close()  # first: an executor waits for running tasks
        self._executor.shutdown(cancel_futures=True)
        self._listener.close()

    def _open(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.capacity,
            self._context,
            initializer=_begin,
            initargs=(self._counter, self._listener),
        )


def _begin(counter, listener) -> None:
    global _counter
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    signal.signal(signal.SIGTERM, _end)
    Thread(target=_end_with, args=(listener,), daemon=True).start()


class _Ended(BaseException):
    """Unwinds a task, so that it removes its temporary files."""


def _call(function: Callable, argument):
    """Call a function in a process of the pool."""
    global _is_busy
    try:
        _is_busy = True
        return function(argument)
    except _Ended:
        os._exit(1)
    finally:
        _is_busy = False


def _end(number, frame) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signals.end()
    if not _is_busy:
        os._exit(1)
    raise _Ended


def _end_with(listener) -> None:
    listener.poll(None)
    # Signal the main thread, because it may wait in a system call.
    signal.pthread_kill(main_thread().ident, signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


class ClusterPool:
    """Workers of a Dask cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler.

    Attributes
    ----------
    capacity, crashes
        See ``ProcessPool``. The scheduler accepts any number of tasks.

    Raises
    ------
    UserError
        When the address is invalid, no scheduler answers there, its workers do not have this
        version of the package, or Dask is not installed.
    """

    capacity = 1 << 30
    crash_message = "the workers that ran it ended abruptly, again and again (out of memory?)"
    advanced = 0  # tasks on a cluster do not report

    def __init__(self, address: str):
        distributed = require("distributed", extra="cluster", verb="--scheduler")
        if not _ADDRESS.fullmatch(address):
            raise UserError(
                f"scheduler must be an address such as tcp://host:8786, not {address!r}"
            )
        self.crashes = (distributed.scheduler.KilledWorker,)
        self._address = address
        try:
            self._client = distributed.Client(
                address, timeout=_CONNECT_SECONDS, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise UserError(f"{address}: no Dask scheduler answers there ({error})") from error
        self._check_workers()
        self._executor = self._client.get_executor(pure=False)
        self._checked = self._seen = time.monotonic()

    def submit(self, function: Callable, argument) -> Future:
        """Begin a call."""
        return self._executor.submit(function, argument)

    def check(self) -> None:
        """Raise PoolLostError when the scheduler is gone, or had no worker for a long time."""
        now = time.monotonic()
        if now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        try:
            workers = self._client.nthreads()
        except Exception as error:  # many types, from many layers of the connection
            raise PoolLostError(f"{self._address}: the scheduler is gone ({error})") from error
        if workers:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise PoolLostError(f"{self._address}: no worker for {PATIENCE} seconds")

    def _check_workers(self) -> None:
        # A worker that cannot import the function of a task ends without a message.
        try:
            versions = set(self._client.run(metadata.version, DISTRIBUTION).values())
        except metadata.PackageNotFoundError:
            versions = {None}
        here = metadata.version(DISTRIBUTION)
        if not versions <= {here}:
            self._client.close()
            raise UserError(f"{self._address}: workers must have {DISTRIBUTION} {here} installed")

    def close(self) -> None:
        """Abandon the tasks that have not ended."""
        self._executor.shutdown(wait=False)
        self._client.close()
