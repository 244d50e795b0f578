"""Repeated words, against a walk word by word."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy


@pytest.mark.parametrize(
    "type_", ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("bf16", "int8"))]
)
def test_words_are_copied_across_beats(play, rng, type_):
    config, rows, expected, carried = Config(type_, "left"), [], [], 0
    for number in range(200):
        words = rng.integers(1 << config.word.bits, size=config.lanes).tolist()
        share = [0.2, 0.9, 1][number % 3]
        repeated = [bool(rng.random() < share) for _ in words]
        final, take = bool(rng.random() < 0.2), bool(rng.random() < 0.7)
        found, before = [], carried
        for word, is_repeated in zip(words, repeated, strict=True):
            before = before if is_repeated else word
            found.append(before)
        if take:
            carried = 0 if final else before
        marked = sum(bit << lane for lane, bit in enumerate(repeated))
        rows.append({"words": words, "repeated": marked, "final": final, "take": take})
        expected.append(found)
    assert play(LeftCopy(config), rows, ["o"])["o"] == expected
