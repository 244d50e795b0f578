"""Progress of long work, on stderr."""

import sys
import time
from collections.abc import Callable

_WIDTH = 30
#: Seconds between two lines where stderr is not a terminal.
_LINE_SECONDS = 10


def tell(text: str) -> None:
    """Print a text on stderr at once."""
    print(text, file=sys.stderr, flush=True)


def telling(label: str) -> Callable[[str], None]:
    """Function that prints a text on stderr, in a line with the seconds since now and the label."""
    start = time.monotonic()

    def report(text: str) -> None:
        seconds = time.monotonic() - start
        print(f"[{seconds:5.0f} s] {label}: {text}", file=sys.stderr, flush=True)

    return report


class Bar:
    """Shows how much of ``total`` is done, on one line of a terminal or now and then in a log.

    Work that is done within the first moments shows nothing.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        The whole, in any unit.
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
        """Show that ``done`` of the total is done, unless it was shown just now."""
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
        """Take the bar away."""
        if self._is_open:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_open = False
