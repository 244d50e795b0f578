"""How a run ends at Ctrl-C or SIGTERM: programs it has started end, unfinished files are removed.

The handler calls what was given to :func:`at_end`, such as what kills running tools, and then
raises in the main thread, so that each ``with`` block removes its temporary files.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_hooks: list[Callable[[], None]] = []
_deferred = 0
_pending: type[KeyboardInterrupt] | None = None
_received: type[KeyboardInterrupt] | None = None


class Terminated(KeyboardInterrupt):
    """The process was sent SIGTERM."""


def at_end(hook: Callable[[], None]) -> Callable[[], None]:
    """Have ``hook`` called when a run is ended by a signal; gives it back, as a decorator does."""
    _hooks.append(hook)
    return hook


def end() -> None:
    """Call all hooks."""
    for hook in _hooks:
        hook()


def install() -> None:
    """Handle SIGINT and SIGTERM; for the main thread of a command.

    The first signal raises ``KeyboardInterrupt`` or :class:`Terminated`. Later ones are ignored,
    so that they do not interrupt the clean-up. A signal that is ignored stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def received() -> type[KeyboardInterrupt] | None:
    """The exception of the signal that this run was sent, if it was."""
    return _received


@contextmanager
def deferred() -> Iterator[None]:
    """Let a signal raise at the end of this block, not within it; for a few quick steps."""
    global _deferred
    if current_thread() is not main_thread():  # handlers run in the main thread only
        yield
        return
    _deferred += 1
    try:
        yield
    finally:
        _deferred -= 1
    if _pending and not _deferred:
        raise _pending


def _handle(number, frame):
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    end()
    global _pending, _received
    _received = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    if not _deferred:
        raise _received
    _pending = _received
