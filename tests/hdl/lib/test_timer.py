"""Steps are counted across the borders of the parts."""

import pytest

from cdma.hdl.lib.timer import Timer


@pytest.mark.parametrize("number", [1, 2, 255, 256, 257, 511, 512, 700])
def test_all_steps(play, rng, number):
    steps = [0]
    while sum(steps) < number:
        steps.append(int(rng.random() < 0.7))
    rows = [{"load": 1, "number": number, "step": 1}, *({"load": 0, "step": k} for k in steps)]
    rows.append({"step": 0})
    done = play(Timer(12), rows, ["done"])["done"]
    assert done[2:] == [0] * (len(rows) - 3) + [1]


def test_too_few_bits():
    with pytest.raises(ValueError, match=r"^Bits of a timer must be more than 8, not 8$"):
        Timer(8)
