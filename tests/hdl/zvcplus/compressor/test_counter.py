"""Payloads of beats, counted."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import plans_of

from cdma.hdl.zvcplus.compressor.counter import PayloadCounter
from cdma.hdl.zvcplus.compressor.records import RAW
from cdma.hdl.zvcplus.config import Config

#: Types and repeats that are tested with the slow tests.
OTHERS = ("fp16", "bf16", "int8", "fp32-left", "fp16-left", "int8-left")


def payloads_of(plan: dict, config: Config) -> list[dict]:
    word, lanes = config.word, config.lanes
    coding, extent, found = plan["coding"], plan["extent"], []
    if word.is_float:
        width = word.mantissa + (word.exponent if coding["k"] == 7 else coding["k"])
        widths = np.full(word.block_words, width + coding["is_wide"])
    else:
        widths = np.repeat(plan["groups"]["widths"], 16)
    for index in range(extent["beats"] + 1):
        mask = (plan["mask"] & ~plan.get("repeated", 0)) >> lanes * index
        mask = -1 if plan["kind"] == RAW else mask
        mask &= (1 << lanes) - 1
        end = index == extent["beats"]
        sent = np.array([mask >> lane & 1 for lane in range(lanes)])
        ends = np.cumsum(widths[lanes * index :][:lanes] * sent)
        behind = [0, *(int(end) % 256 for end in ends[:-1])]
        found.append(
            {
                "behind": behind,
                "total": int(ends[-1]),
                "mask": mask,
                "coding": coding,
                "words": extent["words"] if end and extent["last"] else lanes,
                "end": int(end),
                "final": int(extent["last"]),
            }
        )
    return found


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
@pytest.mark.parametrize("stalls", ["never", pytest.param("bernoulli:0.4", marks=pytest.mark.slow)])
def test_each_word_has_its_place_in_the_payload(exchange, rng, type_, stalls):
    config = Config.parse(f"zvcplus-{type_}")
    packets = [
        random_words(rng, config.format, int(rng.integers(8 * config.lanes))) for _ in range(10)
    ]
    plans = [plan for words in packets for plan in plans_of(words, config)]
    expected = [payload for plan in plans for payload in payloads_of(plan, config)]
    passed = exchange(PayloadCounter(config), {"i": plans}, {"o": len(expected)}, stalls=stalls)
    assert passed["o"].payloads == expected
    if stalls == "never":
        first = passed["i"].cycles[0] + PayloadCounter.LATENCY
        assert passed["o"].cycles == list(range(first, first + len(expected)))
