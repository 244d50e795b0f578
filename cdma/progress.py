"""Progress of long work, on stderr."""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 30
#: Seconds between two lines; a bar on a terminal is faster.
_LINE_SECONDS = 10


def show(text: str) -> None:
    """Print a text on stderr immediately."""
    print(text, file=sys.stderr, flush=True)


def timed(label: str, apart: float = 0) -> Callable[[str], None]:
    """Function that prints lines on stderr: the seconds since this call, the label and a text.

    Lines that come less than ``apart`` seconds after the last one are left out.
    """
    start, shown = time.monotonic(), -math.inf

    def show_timed(text: str) -> None:
        nonlocal shown
        seconds = time.monotonic() - start
        if seconds - shown >= apart:
            shown = seconds
            show(f"[{seconds:5.0f} s] {label}: {text}")

    return show_timed


@contextmanager
def running(label: str) -> Iterator[None]:
    """Show in lines that work which says nothing itself still runs; short work shows nothing."""
    say, ended = timed(label), threading.Event()

    def repeat() -> None:
        while not ended.wait(_LINE_SECONDS):
            say("still running")

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Bar:
    """Shows the completed share of ``total``, on one line of a terminal or in lines of a log.

    Short work shows nothing.

    Parameters
    ----------
    label : str
        Name of the work.
    total : int
        All work, in any unit.
    """

    def __init__(self, label: str, total: int):
        self._label = label
        self._total = max(1, total)
        self._start = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._wait = 0.5 if self._is_terminal else _LINE_SECONDS
        self._shown = self._start
        self._is_open = False

    def __call__(self, done: int) -> None:
        """Show that ``done`` of the total is done, unless the last update was just before."""
        now = time.monotonic()
        if now - self._shown < self._wait:
            return
        self._shown = now
        share = done / self._total
        left = (now - self._start) * (1 - share) / share if share else None
        times = f"{now - self._start:.0f} s" + ("" if left is None else f", {left:.0f} s left")
        if self._is_terminal:
            bar = "#" * int(share * _WIDTH)
            print(f"\r{self._label} [{bar:<{_WIDTH}}] {share:4.0%}, {times}\x1b[K", end="",
                  file=sys.stderr, flush=True)  # fmt: skip
            self._is_open = True
        else:
            print(f"{self._label}: {share:.0%}, {times}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._is_open:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_open = False
