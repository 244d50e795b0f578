"""What is known of a block after two steps: its mask, counted, and the range of its exponents."""

import numpy as np
import pytest
from zvcplus_cases import random_words
from zvcplus_plans import all_stats_of, blocks_of, counted, number_of

from cdma.hdl.zvcplus.compressor.plain.survey.step import StepSurvey
from cdma.hdl.zvcplus.config import Config


@pytest.mark.parametrize(
    "type_", ["fp16", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp32", "bf16"))]
)
def test_statistics_of_blocks(play, rng, type_):
    config = Config(type_)
    lanes, rows, expected, masks = config.lanes, [], [], []
    tiny = np.array([1, 0, 1 << config.word.mantissa], config.format.dtype)  # exponents 0 and 1
    packets = [
        random_words(rng, config.format, int(rng.integers(150 * config.lanes // 8)))
        for _ in range(20)
    ]
    for words in [*packets, tiny, tiny[2:], tiny[1:2]]:
        expected += [counted(stats, config) for stats in all_stats_of(words, config)]
        for block, extent in blocks_of(words, config):
            for index in range(extent["beats"] + 1):
                is_last = index == extent["beats"]
                keep = (1 << (extent["words"] if is_last else lanes)) - 1
                beat = block[lanes * index :][:lanes].copy()
                masks.append(number_of(beat != 0))
                beat[keep.bit_length() :] = -1 % (1 << config.word.bits)  # rubbish
                rows.append(
                    {
                        "words": beat.tolist(),
                        "keep": keep,
                        "index": index,
                        "extent": extent | {"beats": index, "last": extent["last"] and is_last},
                        "end": is_last,
                        "valid": 1,
                        "enable": 3,
                    }
                )
                rows += [{"enable": 0, "valid": 0}] * int(rng.integers(2))
                rows += [{"enable": 3, "valid": 0}] * int(rng.integers(2))
    rows += [{"enable": 3, "valid": 0}] * 4
    seen = play(StepSurvey(config), rows, ["enable", "valid", "mask", "o_valid", "o"])
    beats = zip(seen["enable"], seen["valid"], seen["mask"], strict=True)
    assert [mask for enable, valid, mask in beats if enable and valid] == masks
    blocks = zip(seen["enable"], seen["o_valid"], seen["o"], strict=True)
    assert [stats for enable, valid, stats in blocks if enable and valid] == expected
