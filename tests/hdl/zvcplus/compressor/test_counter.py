"""Payloads of beats, counted."""

import pytest
from zvcplus_cases import random_words
from zvcplus_plans import plans_of

from cdma.hdl.zvcplus.compressor.counter import PayloadCounter
from cdma.hdl.zvcplus.compressor.records import RAW
from cdma.hdl.zvcplus.config import Config


def payloads_of(plan: dict, config: Config) -> list[dict]:
    word, lanes = config.word, config.lanes
    coding, extent, found = plan["coding"], plan["extent"], []
    width = word.mantissa + (word.exponent if coding["k"] == 7 else coding["k"])
    width += coding["is_wide"]
    for index in range(extent["beats"] + 1):
        mask = -1 if plan["kind"] == RAW else plan["mask"] >> lanes * index
        mask &= (1 << lanes) - 1
        end = index == extent["beats"]
        behind = [width * (mask & (1 << lane) - 1).bit_count() % 256 for lane in range(lanes)]
        found.append(
            {
                "behind": behind,
                "total": width * mask.bit_count(),
                "mask": mask,
                "coding": coding,
                "words": extent["words"] if end and extent["last"] else lanes,
                "end": int(end),
                "final": int(extent["last"]),
            }
        )
    return found


@pytest.mark.parametrize(
    "type_", ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp16", "bf16"))]
)
@pytest.mark.parametrize("stalls", ["never", pytest.param("bernoulli:0.4", marks=pytest.mark.slow)])
def test_each_word_has_its_place_in_the_payload(exchange, rng, type_, stalls):
    config = Config(type_)
    packets = [random_words(rng, config.format, int(rng.integers(200))) for _ in range(10)]
    plans = [plan for words in packets for plan in plans_of(words, config)]
    expected = [payload for plan in plans for payload in payloads_of(plan, config)]
    passed = exchange(PayloadCounter(config), {"i": plans}, {"o": len(expected)}, stalls=stalls)
    assert passed["o"].payloads == expected
    if stalls == "never":
        first = passed["i"].cycles[0] + PayloadCounter.LATENCY
        assert passed["o"].cycles == list(range(first, first + len(expected)))
