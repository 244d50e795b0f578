"""Controls in two windows at their places, against the golden encoder."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import controls_of, plans_of

from cdma.hdl.zvcplus.compressor.plain.control import WindowCoder
from cdma.hdl.zvcplus.compressor.plain.place import LOW
from cdma.hdl.zvcplus.compressor.plain.records import WINDOW_WORD
from cdma.hdl.zvcplus.compressor.records import NOTHING, RAW
from cdma.hdl.zvcplus.config import Config


def shown(window: dict) -> int:
    """Bits of a window at their places in two rows."""
    at = window["at"]
    assert at & (at - 1) == 0
    return window["bits"] << WINDOW_WORD * (at.bit_length() - 1) if at else 0


@pytest.mark.parametrize(
    "type_", ["fp16", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp32", "bf16"))]
)
def test_controls_are_those_of_the_golden_encoder(play, rng, type_):
    config, rows, expected = Config(type_), [], []
    packets = [
        random_words(rng, config.format, int(rng.integers(10 * config.lanes))) for _ in range(40)
    ]
    packets.append(rng.integers(1 << config.word.bits, size=200).astype(config.format.dtype))
    high = 0  # of the control before
    for words in [*packets, np.zeros(0, config.format.dtype)]:
        for plan, control in zip(plans_of(words, config), controls_of(words, config), strict=True):
            at, valid = int(rng.integers(256)), int(rng.random() < 0.8)
            own = {name: plan[name] for name in ("kind", "coding", "d", "bits", "nibbles", "flags")}
            if plan["kind"] == RAW:  # which has no mask
                own |= {"nibbles": int(rng.integers(1 << 16)), "flags": 15}
            given = {"valid": valid, "plan": own, "at_low": at % (1 << LOW), "at_high": high}
            rows.append({"enable": 1, **given})
            rows += [{"enable": 0}] * int(rng.integers(2))
            high = at >> LOW
            expected.append((control if valid and plan["kind"] != NOTHING else 0) << at)
    rows += [{"enable": 1, "valid": 0, "at_high": high}, {"enable": 1}]
    seen = play(WindowCoder(config), rows, ["enable", "heading", "body"])
    windows = zip(seen["enable"], seen["heading"], seen["body"], strict=True)
    found = [shown(heading) | shown(body) for enable, heading, body in windows if enable]
    assert found[WindowCoder.LATENCY :] == expected
