"""Controls, against the golden encoder; and at their places."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import controls_of, plans_of

from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.records import NOTHING
from cdma.hdl.zvcplus.config import Config

#: Types and repeats that are tested with the slow tests.
OTHERS = ("fp16", "bf16", "int8", "fp32-left", "fp16-left", "int8-left")


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_controls_are_those_of_the_golden_encoder(play, rng, type_):
    config = Config.parse(f"zvcplus-{type_}")
    rows, expected = [], []
    packets = [
        random_words(rng, config.format, int(rng.integers(10 * config.lanes))) for _ in range(30)
    ]
    for words in [*packets, np.zeros(0, config.format.dtype)]:
        for plan, control in zip(plans_of(words, config), controls_of(words, config), strict=True):
            control = 0 if plan["kind"] == NOTHING else control
            appended, repeats = 0, {}
            if config.has_repeats:  # bits of another block, behind it or alone
                count = int(rng.integers(config.word.block_words + 1)) * int(rng.integers(2))
                appended = int.from_bytes(rng.bytes(16), "little") & (1 << count) - 1
                repeats = {"repeats": {"bits": appended, "count": count}}
            both, beside = appended, repeats
            if config.has_late_controls:  # only alone
                both, beside = 0, {"repeats": {"bits": 0, "count": 0}}
            rows += [
                {"enable": 1, "valid": 1, "plan": plan, **beside},
                {"enable": 1, "valid": 0, **repeats},
            ]
            rows += [{"enable": 0}] * int(rng.integers(2))
            expected += [control | both << plan["bits"], appended]
    latency = ControlCoder.latency(config)
    seen = play(ControlCoder(config), [*rows, *[{"enable": 1}] * latency], ["enable", "bits"])
    found = [bits for enable, bits in zip(seen["enable"], seen["bits"], strict=True) if enable]
    assert found[latency:] == expected
