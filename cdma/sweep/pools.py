"""Where a sweep's tasks run: threads, processes of this machine, or workers of a Dask cluster."""

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

#: Seconds that a cluster may be without any worker.
PATIENCE = 60
_CONNECT_SECONDS = 10
_CHECK_SECONDS = 2
#: Seconds that a task has to remove its temporary files.
_GRACE_SECONDS = 5

#: With or without a protocol of Dask's: others it takes seconds to refuse.
_ADDRESS = re.compile(r"((tcp|tls|wss?|ucx)://)?[^\s/]+:\d+")

_counter = None
_is_busy = False


def advance(weight: int) -> None:
    """Report, from within a running task, how much of its weight was done since the last report."""
    if _counter is not None:
        # Without a lock, which a process that is killed could keep: an addition may get lost.
        _counter.value += weight


class PoolLostError(UserError):
    """Nothing is left that could run tasks."""


class ThreadPool:
    """Threads of this process.

    Parameters
    ----------
    jobs : int
        How many, at least one.

    Attributes
    ----------
    capacity, crashes
        As for ``ProcessPool``; what ends a thread abruptly ends this process, too.
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
        """Wait for what runs; no thread can be ended."""
        self._executor.shutdown(cancel_futures=True)


class ProcessPool:
    """Processes of this machine.

    Parameters
    ----------
    jobs : int
        How many, at least one.

    Attributes
    ----------
    capacity : int
        Tasks to submit at a time, so that each that is submitted has a process of its own.
    crashes : tuple of exception types
        What a future raises when the process of its task, or of a task beside it, ended abruptly.
    """

    crashes = (BrokenProcessPool,)
    crash_message = "its process ended abruptly, twice (out of memory?)"

    def __init__(self, jobs: int):
        self.capacity = jobs
        # Not forked: the parent may have threads, whose locks a fork would copy.
        self._context = get_context("spawn")
        self._counter = self._context.RawValue("q", 0)
        # Nothing is ever sent: its end is the end of this pool, or of this process.
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
        """Processes are replaced when they are needed, so nothing is ever lost for good."""

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._lifeline.close()
        self._executor.shutdown()
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to end this process
    signal.signal(signal.SIGTERM, _end)
    Thread(target=_end_with, args=(listener,), daemon=True).start()


class _Ended(BaseException):
    """Unwinds a task, so that it removes its temporary files."""


def _call(function: Callable, argument):
    """In a process of the pool."""
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
    # To the main thread, which may wait in a system call.
    signal.pthread_kill(main_thread().ident, signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


class ClusterPool:
    """Workers of a Dask cluster.

    Parameters
    ----------
    address : str
        Of the scheduler.

    Attributes
    ----------
    capacity, crashes
        As for ``ProcessPool``; the scheduler holds any number of tasks.

    Raises
    ------
    UserError
        When it is no address, no scheduler answers there, its workers lack this version of the
        package, or Dask is not installed.
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
        """Raise PoolLostError when the scheduler is gone, or has long been without a worker."""
        now = time.monotonic()
        if now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        try:
            workers = self._client.nthreads()
        except Exception as error:  # of many kinds, from many layers of the connection
            raise PoolLostError(f"{self._address}: the scheduler is gone ({error})") from error
        if workers:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise PoolLostError(f"{self._address}: no worker for {PATIENCE} seconds")

    def _check_workers(self) -> None:
        # A worker that cannot import a task's function ends without a word.
        try:
            versions = set(self._client.run(metadata.version, DISTRIBUTION).values())
        except metadata.PackageNotFoundError:
            versions = {None}
        here = metadata.version(DISTRIBUTION)
        if not versions <= {here}:
            self._client.close()
            raise UserError(f"{self._address}: workers must have {DISTRIBUTION} {here} installed")

    def close(self) -> None:
        """Give up what has not ended."""
        self._executor.shutdown(wait=False)
        self._client.close()
