"""Timeouts of a port."""

import numpy as np
import pytest

from cdma.hdl.engine.ports.watchdog import Watchdog

#: Cycles from the last one that counts to the timeout.
LATENCY = 2


def _expiries(play, limits, waits, moves):
    """``limits`` are those of all cycles; the watchdog is on where they are not 0."""
    rows = [
        {"limit": {"cycles": limit, "on": int(limit != 0)}, "waits": int(wait), "moves": int(move)}
        for limit, wait, move in zip(limits, waits, moves, strict=True)
    ]
    off = {"limit": {"cycles": limits[0], "on": 0}, "waits": 0, "moves": 0}
    found = play(Watchdog(), [off, *rows], ["expired"])["expired"]
    return [k for k, value in enumerate(found[1:]) if value]


@pytest.mark.parametrize("limit", [1, 2, 7, 255, 256, 257, 600])
def test_expires_after_the_limit(play, limit):
    cycles = limit + 10
    found = _expiries(play, [limit] * cycles, [1] * cycles, [0] * cycles)
    assert found[0] == limit - 1 + LATENCY


def test_begins_anew_when_it_has_expired(play):
    found = _expiries(play, [5] * 40, [1] * 40, [0] * 40)
    assert np.diff(found).tolist() == [6] * (len(found) - 1), "the pulse itself does not count"


def test_off_is_never(play):
    assert _expiries(play, [0] * 50, [1] * 50, [0] * 50) == []


def test_a_handshake_begins_anew(play):
    moves = [k % 4 == 3 for k in range(40)]
    assert _expiries(play, [5] * 40, [1] * 40, moves) == []
    moves = [k == 20 for k in range(40)]
    assert _expiries(play, [300] * 40, [1] * 40, moves) == []
    assert _expiries(play, [15] * 40, [1] * 40, moves) == [14 + LATENCY, 20 + 15 + LATENCY]


def test_cycles_that_do_not_wait_do_not_count(play):
    waits = [k % 2 for k in range(40)]
    assert _expiries(play, [5] * 40, waits, [0] * 40)[0] == 9 + LATENCY


def test_a_new_limit_begins_anew(play):
    limits = [1000] * 10 + [0] + [20] * 30
    assert _expiries(play, limits, [1] * 41, [0] * 41) == []
