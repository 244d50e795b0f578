"""The register for what its taker has no time for."""

import pytest

from cdma.hdl.lib.skid import Skid


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5"])
def test_payloads_keep_their_order(exchange, stalls):
    items = list(range(1, 60))
    passed = exchange(Skid(8), {"i": items}, {"o": len(items)}, stalls=stalls)
    assert passed["o"].payloads == items


def test_a_payload_leaves_in_the_cycle_in_which_it_comes(exchange):
    passed = exchange(Skid(8), {"i": list(range(20))}, {"o": 20})
    assert passed["o"].cycles == passed["i"].cycles == list(range(20))


def test_one_payload_is_kept(play):
    """What comes while the output is not ready; the next waits."""
    rows = [{"i.valid": 1, "i.payload": 7}, {"i.payload": 9}, {"o.ready": 1}, {}, {"i.valid": 0}]
    seen = play(Skid(8), rows, ["i.ready", "o.valid", "o.payload"])
    assert seen["i.ready"] == [1, 0, 0, 1, 1]
    assert seen["o.valid"] == [1, 1, 1, 1, 0]
    assert seen["o.payload"][:4] == [7, 7, 7, 9]
