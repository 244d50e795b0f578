"""Controls, against the golden encoder; and at their places."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import blocks_of, plans_of

from cdma.golden.zvcplus.emit import emit_controls
from cdma.golden.zvcplus.plan import plan_blocks
from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.records import NOTHING
from cdma.hdl.zvcplus.config import Config


def controls_of(words: np.ndarray, config: Config) -> list[int]:
    """Bits of the control of each block."""
    number = len(blocks_of(words, config))
    plan = plan_blocks(words, 0, number, config.format, 0)
    out = np.zeros(8 * number + 8, np.uint32)
    emit_controls(out, 256 * np.arange(number), plan, config.format)
    rows = out[: 8 * number].reshape(number, 8).tobytes()
    return [int.from_bytes(rows[32 * k : 32 * k + 32], "little") for k in range(number)]


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp16", "bf16", "int8"))],
)
def test_controls_are_those_of_the_golden_encoder(play, rng, type_):
    config = Config(type_)
    rows, expected = [], []
    packets = [
        random_words(rng, config.format, int(rng.integers(10 * config.lanes))) for _ in range(30)
    ]
    for words in [*packets, np.zeros(0, config.format.dtype)]:
        for plan, control in zip(plans_of(words, config), controls_of(words, config), strict=True):
            rows += [{"enable": 1, "valid": 1, "plan": plan}, {"enable": 1, "valid": 0}]
            rows += [{"enable": 0}] * int(rng.integers(2))
            expected += [0 if plan["kind"] == NOTHING else control, 0]
    latency = ControlCoder.latency(config)
    seen = play(ControlCoder(config), [*rows, *[{"enable": 1}] * latency], ["enable", "bits"])
    found = [bits for enable, bits in zip(seen["enable"], seen["bits"], strict=True) if enable]
    assert found[latency:] == expected
