"""Packets cut into blocks."""

import numpy as np
from zvcplus_plans import blocks_of

from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.config import Config


def test_blocks_and_their_ends(play, rng, beats_of):
    config = Config("fp32")
    rows, expected = [], []
    for length in (0, 1, 8, 9, 31, 32, 33, 64, 7, 0):
        words = rng.integers(1 << 32, size=length).astype(np.uint32)
        beats = beats_of(words.tobytes(), config)
        for beat in beats:
            rows += [{"accept": 0}, {"accept": 1, "beat": beat}]
        blocks = blocks_of(words, config)
        for number, (block, extent) in enumerate(blocks):
            for index in range(extent["beats"] + 1):
                lanes = block[8 * index : 8 * index + 8].tolist()
                is_end = index == extent["beats"]
                expected.append(
                    {
                        "words": lanes,
                        "index": index,
                        "end": int(is_end),
                        "last": int(is_end and number == len(blocks) - 1),
                        "count": extent["words"] if is_end else 8,
                        "is_empty": int(extent["is_empty"]),
                    }
                )
    names = ["words", "index", "end", "extent"]
    seen = play(BlockIntake(config), rows, names)
    found = [
        {
            "words": words,
            "index": index,
            "end": end,
            "last": extent["last"],
            "count": extent["words"],
            "is_empty": extent["is_empty"],
        }
        for words, index, end, extent in zip(*(seen[name][1::2] for name in names), strict=True)
    ]
    assert found == expected
