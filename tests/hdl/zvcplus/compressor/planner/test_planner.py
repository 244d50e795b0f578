"""The choice of a block's coding, against the golden encoder."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import all_stats_of, plans_of

from cdma.hdl.zvcplus.compressor.planner.floats import FloatPlanner
from cdma.hdl.zvcplus.compressor.planner.integers import IntPlanner
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, NOTHING, RAW
from cdma.hdl.zvcplus.config import Config


def meant(plan: dict) -> dict:
    """The plan without the fields that mean nothing for its kind."""
    kind, coding = plan["kind"], dict(plan["coding"])
    if "count" in plan and not plan["has_repeats"]:
        plan = plan | {"count": 0}
    if plan.get("has_repeats") and plan["repeated"] == plan["mask"]:
        coding["base"] = 0  # of no word
    if kind in (NOTHING, ALL_ZERO, RAW):
        plan = plan | {"nibbles": 0, "flags": 0}
        if "groups" in plan:
            groups = plan["groups"] | {"half": 0, "is_wide": 0}
            if kind != RAW:
                groups["widths"] = 0
            return plan | {"groups": groups}
        coding["base"], plan["d"] = 0, 0
    if kind in (NOTHING, ALL_ZERO) and "k" in coding:
        coding["k"] = 0
    return plan | {"coding": coding}


def full_words(rng, config: Config) -> np.ndarray:
    """Blocks of nearly as many bits as a raw block, behind near and far bases."""
    word, size = config.word, config.word.block_words
    words = rng.integers(1, 1 << word.bits, (12, size))
    for block in words:
        block[rng.permutation(size)[: int(rng.integers(5))]] = 0
    if word.is_float:
        words[::3] &= (1 << word.mantissa) - 1
        words[::3] |= (1 << word.exponent) - int(rng.integers(1, 9)) << word.mantissa
    else:
        words[::3] = words[::3] % 128 + (words[::3] > 0)
    return words.reshape(-1).astype(config.format.dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    "type_", ["fp32", "fp16", "bf16", "int8", "fp32-left", "fp16-left", "bf16-left", "int8-left"]
)
def test_plans_are_those_of_the_golden_encoder(exchange, rng, type_):
    config = Config.parse(f"zvcplus-{type_}")
    packets = [
        random_words(rng, config.format, int(rng.integers(8 * config.lanes))) for _ in range(20)
    ]
    packets += [np.zeros(0, config.format.dtype)] + [full_words(rng, config) for _ in range(6)]
    # Has raw masks.
    scattered = rng.integers(1, 1 << min(12, config.word.bits), 400) * (rng.random(400) < 0.5)
    packets.append(scattered.astype(config.format.dtype))
    sends, expected = [], []
    for words in packets:
        sends += all_stats_of(words, config)
        expected += plans_of(words, config)
    planner = FloatPlanner if config.word.is_float else IntPlanner
    passed = exchange(
        planner(config), {"i": sends}, {"o": len(sends)}, stalls={"o": "bernoulli:0.3"}
    )
    assert list(map(meant, passed["o"].payloads)) == list(map(meant, expected))
    assert {plan["kind"] for plan in expected} == set(range(7))


@pytest.mark.slow
def test_one_block_a_cycle(exchange):
    config = Config("fp32")
    words = np.arange(1, 321, dtype=np.uint32)
    sends = all_stats_of(words, config)
    passed = exchange(FloatPlanner(config), {"i": sends}, {"o": len(sends)})
    latency = FloatPlanner.LATENCY
    assert passed["o"].cycles == [cycle + latency for cycle in passed["i"].cycles]
    assert passed["i"].cycles == list(range(passed["i"].cycles[0], passed["i"].cycles[0] + 10))
