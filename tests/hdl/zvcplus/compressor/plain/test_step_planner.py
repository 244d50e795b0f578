"""The choice of a block's coding in one step, against the golden encoder."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import all_stats_of, counted, plans_of

from cdma.hdl.zvcplus.compressor.plain.planner.step import StepPlanner
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, NOTHING, RAW
from cdma.hdl.zvcplus.config import Config


def meant(plan: dict) -> dict:
    """What a plan says of its kind."""
    kind, coding = plan["kind"], plan["coding"]
    found = {"kind": kind, "bits": plan["bits"], "last": plan["last"]}
    if kind in (NOTHING, ALL_ZERO, RAW):
        return found
    fields = {name: coding[name] for name in ("base", "k", "is_wide")}
    return found | fields | {name: plan[name] for name in ("d", "nibbles", "flags")}


def full_words(rng, config: Config) -> np.ndarray:
    """Blocks of nearly as many bits as a raw block."""
    word, size = config.word, config.word.block_words
    words = rng.integers(1, 1 << word.bits, (12, size))
    for block in words:
        block[rng.permutation(size)[: int(rng.integers(6))]] = 0
    words[::3] &= (1 << word.mantissa) - 1
    words[::3] |= (1 << word.exponent) - int(rng.integers(1, 9)) << word.mantissa
    return words.reshape(-1).astype(config.format.dtype)


@pytest.mark.parametrize(
    "type_", ["fp16", *(pytest.param(t, marks=pytest.mark.slow) for t in ("fp32", "bf16"))]
)
def test_plans_are_those_of_the_golden_encoder(exchange, rng, type_):
    config = Config(type_)
    packets = [
        random_words(rng, config.format, int(rng.integers(8 * config.lanes))) for _ in range(20)
    ]
    packets += [np.zeros(0, config.format.dtype)] + [full_words(rng, config) for _ in range(6)]
    scattered = rng.integers(1, 1 << 12, 400) * (rng.random(400) < 0.5)  # has raw masks
    packets.append(scattered.astype(config.format.dtype))
    sends, expected = [], []
    for words in packets:
        sends += [counted(stats, config) for stats in all_stats_of(words, config)]
        expected += [plan | {"last": plan["extent"]["last"]} for plan in plans_of(words, config)]
    number = len(sends)
    passed = exchange(
        StepPlanner(config),
        {"i": sends},
        {"o": number, "o_coding": number},
        stalls={"o": "bernoulli:0.3", "o_coding": "bernoulli:0.3"},
    )
    assert list(map(meant, passed["o"].payloads)) == list(map(meant, expected))
    assert {plan["kind"] for plan in expected} == set(range(7))
    for coding, plan in zip(passed["o_coding"].payloads, expected, strict=True):
        assert coding["is_raw"] == (plan["kind"] == RAW)
        assert (coding["words"], coding["last"]) == (plan["extent"]["words"], plan["last"])
