"""Counts of what is owed, across the border of the parts."""

import pytest

from cdma.hdl.lib.tally import Tally


def test_up_and_down_across_the_parts(play, rng):
    steps, count = [], 0
    for goal in (3, 0, 257, 250, 260, 0, 300, 0):
        while count != goal:
            up, down = int(rng.integers(2)), int(rng.integers(2) and count > 0)
            up, down = (up, down & up) if count < goal else (up & down, down)
            steps.append({"up": up, "down": down})
            count += up - down
    counts = [0]
    for step in steps:
        counts.append(counts[-1] + step["up"] - step["down"])
    found = play(Tally(10), steps, ["any"])["any"]
    assert found == [int(each != 0) for each in counts[:-1]]


@pytest.mark.parametrize("bits", [8, 17])
def test_mistakes(bits):
    with pytest.raises(ValueError, match=rf"^Bits of a tally must be 9 to 16, not {bits}$"):
        Tally(bits)
