"""The delay line: values and valid bits, as many cycles later."""

import pytest

from cdma.hdl.lib.delay import DelayLine


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_a_value_comes_as_many_enabled_cycles_later(play, rng, stages):
    rows = [
        {"enable": int(rng.random() < 0.7), "i_valid": int(rng.random() < 0.5), "i": int(value)}
        for value in rng.integers(256, size=100)
    ]
    seen = play(DelayLine(8, stages), rows, ["o_valid", "o"])
    line = [(0, None)] * stages
    for row, valid, value in zip(rows, seen["o_valid"], seen["o"], strict=True):
        expected_valid, expected = (line or [(row["i_valid"], row["i"])])[0]
        assert valid == expected_valid
        if expected_valid:
            assert value == expected
        if row["enable"] and line:
            line = [*line[1:], (row["i_valid"], row["i"])]


def test_a_negative_number_of_stages_is_refused():
    with pytest.raises(ValueError, match=r"^Number of stages must be 0 or more, not -1$"):
        DelayLine(8, -1)
