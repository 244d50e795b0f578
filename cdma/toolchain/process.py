"""Programs that run beside this process, each in a process group that ends with it."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from threading import RLock

from cdma import signals

_running: set[subprocess.Popen] = set()
_lock = RLock()  # the signal handler may interrupt who holds it
_is_ended = False


@contextlib.contextmanager
def started(command: Sequence[str], **options) -> Iterator[subprocess.Popen]:
    """Start a program in a process group of its own; the group is killed when the block ends.

    Its temporary files are in a folder of its own, which is removed then: a program that is killed
    does not remove them (gcc leaves its assembly, YoWASP the folder that it shows as ``/tmp``).

    Parameters
    ----------
    command : sequence of str
    **options
        Of ``subprocess.Popen``.

    Raises
    ------
    KeyboardInterrupt
        When a signal has ended this run.
    """
    process = None
    environment = options.pop("env", None) or os.environ
    with tempfile.TemporaryDirectory(prefix="cdma-", ignore_cleanup_errors=True) as temporary:
        options["env"] = {**environment, "TMPDIR": temporary}
        try:
            with _lock, signals.deferred():
                if _is_ended:
                    raise KeyboardInterrupt
                process = subprocess.Popen(command, start_new_session=True, **options)
                _running.add(process)
            yield process
        finally:
            if process is not None:
                _kill(process)
                process.wait()
                with _lock:
                    _running.discard(process)


def run(command: Sequence[str], *, timeout: float | None = None, **options):
    """Run a program to its end and collect what it prints.

    Parameters
    ----------
    command : sequence of str
    timeout : float or None
        Seconds.
    **options
        Of ``subprocess.Popen``; text is the default.

    Returns
    -------
    subprocess.CompletedProcess

    Raises
    ------
    subprocess.TimeoutExpired
        When it takes longer.
    """
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    with started(command, stdin=subprocess.DEVNULL, **options) as process:
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


@signals.at_end
def end_all() -> None:
    """Kill all programs that run, and start no more."""
    global _is_ended
    with _lock:
        _is_ended = True
        for process in _running:
            _kill(process)


def _kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
