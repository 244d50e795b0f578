"""Progress on stderr: a bar, quiet at first, of one line or lines in a log; other lines."""

import re
import sys
import time

import pytest

from cdma import progress
from cdma.progress import Bar, running, timed


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets forward."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def forward(seconds):
        now[0] += seconds

    return forward


def test_short_work_shows_nothing(clock, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Bar("working", 10)
    clock(0.4)
    bar(9)
    bar.close()
    assert capsys.readouterr().err == ""


def test_terminal(clock, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Bar("working", 10)
    clock(3)
    bar(0)
    clock(3)
    bar(5)
    bar(6)  # too soon after
    assert capsys.readouterr().err == (
        f"\rworking [{' ' * 30}]   0%, 3 s\x1b[K"
        f"\rworking [{'#' * 15}{' ' * 15}]  50%, 6 s, 6 s left\x1b[K"
    )
    bar.close()
    assert capsys.readouterr().err == "\r\x1b[K"
    bar.close()
    assert capsys.readouterr().err == ""


def test_log(clock, capsys):
    bar = Bar("working", 10)
    for done in range(10):
        clock(4)
        bar(done)
    bar.close()
    assert capsys.readouterr().err == (
        "working: 20%, 12 s, 48 s left\n"
        "working: 50%, 24 s, 24 s left\n"
        "working: 80%, 36 s, 9 s left\n"
    )


def test_nothing_to_do(clock, capsys):
    bar = Bar("working", 0)
    clock(60)
    bar(0)
    assert capsys.readouterr().err == "working: 0%, 60 s\n"


def test_lines_with_the_time(clock, capsys):
    say = timed("engine", apart=2)
    for number in range(5):
        say(str(number))
        clock(1)
    assert capsys.readouterr().err == "".join(
        f"[    {number} s] engine: {number}\n" for number in (0, 2, 4)
    )


def test_work_that_says_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.01)
    with running("generating"):
        shown = ""
        while shown.count("\n") < 2:  # hangs here, and runs into the limit of time, without lines
            shown += capsys.readouterr().err
    capsys.readouterr()
    assert re.fullmatch(r"(\[ +\d s\] generating: still running\n)+", shown)
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_short_work_that_says_nothing(capsys):
    with pytest.raises(ValueError, match=r"^broken$"), running("generating"):
        raise ValueError("broken")
    assert capsys.readouterr().err == ""
