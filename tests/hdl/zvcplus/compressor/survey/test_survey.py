"""What is known of a block: masks, and the range of its exponents or the widths of its groups."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import all_stats_of, blocks_of

from cdma.hdl.zvcplus.compressor.survey.floats import FloatSurvey
from cdma.hdl.zvcplus.compressor.survey.integers import IntSurvey
from cdma.hdl.zvcplus.config import Config

#: Types and repeats that are tested with the slow tests.
OTHERS = ("fp16", "bf16", "int8", "fp32-left", "fp16-left", "int8-left")


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_statistics_of_blocks(play, rng, type_):
    config = Config.parse(f"zvcplus-{type_}")
    lanes, rows, expected = config.lanes, [], []
    tiny = np.array([1, 0, 1 << config.word.mantissa], config.format.dtype)  # exponents 0 and 1
    packets = [
        random_words(rng, config.format, int(rng.integers(150 * config.lanes // 8)))
        for _ in range(12)
    ]
    for words in [*packets, tiny, tiny[2:], tiny[1:2]]:
        expected += all_stats_of(words, config)
        for block, extent in blocks_of(words, config):
            for index in range(extent["beats"] + 1):
                is_last = index == extent["beats"]
                keep = (1 << (extent["words"] if is_last else lanes)) - 1
                beat = block[lanes * index :][:lanes].copy()
                beat[keep.bit_length() :] = -1 % (1 << config.word.bits)  # rubbish
                rows.append(
                    {
                        "words": beat.tolist(),
                        "keep": keep,
                        "index": index,
                        "extent": extent | {"beats": index, "last": extent["last"] and is_last},
                        "end": is_last,
                        "valid": 1,
                        "enable": 1,
                    }
                )
                rows += [{"enable": 0}] * int(rng.integers(2))
                rows += [{"enable": 1, "valid": 0}] * int(rng.integers(2))
    rows += [{"enable": 1, "valid": 0}] * 4
    survey = FloatSurvey if config.word.is_float else IntSurvey
    seen = play(survey(config), rows, ["enable", "o_valid", "o"])
    found = [
        stats
        for enable, valid, stats in zip(seen["enable"], seen["o_valid"], seen["o"], strict=True)
        if enable and valid
    ]
    assert found == expected
