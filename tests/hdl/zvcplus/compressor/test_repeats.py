"""Bits of repeats side by side, against the golden plans."""

import pytest
from zvcplus_cases import random_words
from zvcplus_plans import plans_of

from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.hdl.zvcplus.config import Config


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["fp32", "fp16", "int8"])
def test_each_word_that_is_not_zero_has_a_bit(play, rng, type_):
    config, rows, expected = Config(type_, "left"), [], []
    for _ in range(30):
        words = random_words(rng, config.format, int(rng.integers(8 * config.lanes)))
        for plan in plans_of(words, config):
            rows += [{"valid": 1, "plan": plan}, *[{"valid": 0}] * int(rng.integers(2))]
            marked = [at for at in range(config.word.block_words) if plan["mask"] >> at & 1]
            bits = sum((plan["repeated"] >> at & 1) << rank for rank, at in enumerate(marked))
            expected.append({"bits": bits, "count": len(marked) * plan["has_repeats"]})
    rows[0] |= {"o.ready": 1}
    latency = RepeatCoder.latency(config)
    rows += [{"valid": 0}] * (latency + 1)
    seen = play(RepeatCoder(config), rows, ["o.valid", "o.payload"])
    pairs = zip(seen["o.valid"], seen["o.payload"], strict=True)
    assert [payload for valid, payload in pairs if valid] == expected
    assert seen["o.valid"].index(1) == latency
    assert any(each["count"] for each in expected)
