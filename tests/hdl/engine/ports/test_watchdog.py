"""Timeouts of a port."""

import pytest

from cdma.hdl.engine.ports.watchdog import Watchdog


def _expiries(play, limit, waits, moves):
    rows = [
        {"limit": limit, "waits": int(wait), "moves": int(move)}
        for wait, move in zip(waits, moves, strict=True)
    ]
    return [k for k, value in enumerate(play(Watchdog(), rows, ["expired"])["expired"]) if value]


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_expires_after_the_limit(play, limit):
    assert _expiries(play, limit, [1] * 20, [0] * 20)[0] == limit - 1


def test_zero_is_never(play):
    assert _expiries(play, 0, [1] * 50, [0] * 50) == []


def test_a_handshake_begins_anew(play):
    moves = [k % 4 == 3 for k in range(40)]
    assert _expiries(play, 5, [1] * 40, moves) == []


def test_cycles_that_do_not_wait_do_not_count(play):
    waits = [k % 2 for k in range(40)]
    assert _expiries(play, 5, waits, [0] * 40)[0] == 9
