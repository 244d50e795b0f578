"""The steps of packets, against the format's order."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.steps import ControlSteps

OUTPUTS = ("loaded", "phase", "starts", "is_control", "is_end", "is_first", "is_second")
OUTPUTS += ("is_last", "words", "is_empty")


@pytest.mark.parametrize("words", [0, 1, 31, 32, 33, 100])
def test_a_packet_has_a_step_for_each_control_and_two_more(play, rng, words):
    config = Config("fp32")
    size = config.word.block_words
    blocks = -(-words // size)
    rows = [{"i_command.valid": 1, "i_command.payload": {"words": words}}, {"i_command.valid": 0}]
    rows += [{"proceed": bool(rng.random() < 0.6)} for _ in range(12 * (blocks + 2) + 30)]
    seen = play(ControlSteps(config), rows, OUTPUTS)
    steps = []
    for cycle, starts in enumerate(seen["starts"]):
        if starts:
            steps.append({name: values[cycle] for name, values in seen.items()})
            assert seen["phase"][cycle : cycle + 4] == [1, 2, 4, 8]
            assert rows[cycle]["proceed"]
    assert len(steps) == max(blocks, 1) + 1 + (blocks > 0)
    for number, step in enumerate(steps):
        assert step["is_control"] == (number < blocks)
        assert step["is_end"] == (number == len(steps) - 1)
        assert step["is_first"] == (number == 0)
        assert step["is_second"] == (number == 1)
        assert step["is_empty"] == (words == 0)
        if number < blocks:
            assert step["is_last"] == (number == blocks - 1)
    if blocks:
        assert steps[blocks - 1]["words"] == words - size * (blocks - 1)
    assert seen["loaded"][-1] == 0
    assert seen["phase"][-1] == 0
