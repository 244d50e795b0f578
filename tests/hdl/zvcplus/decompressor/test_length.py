"""The length of a payload, against a product."""

import pytest

from cdma.hdl.zvcplus.decompressor.length import PayloadLength


@pytest.mark.parametrize(
    ("words", "word_bits"), [(32, 32), pytest.param(64, 16, marks=pytest.mark.slow)]
)
def test_length_is_ones_times_width(play, rng, words, word_bits):
    top = (1 << words) - 1
    cases = [(0, 9), (top, word_bits)]
    for _ in range(100):
        mask = int.from_bytes(rng.bytes(8), "little") & top
        cases.append((mask, int(rng.integers(word_bits + 1))))
    rows = []
    for mask, width in cases:
        rows += [
            {"mask": mask, "width": width, "load_count": 1, "load_length": 0},
            {"mask": 0, "width": 0, "load_count": 0, "load_length": 1},
            {"load_length": 0},
        ]
    seen = play(PayloadLength(words, word_bits), rows, ["length"])["length"][2::3]
    assert seen == [mask.bit_count() * width for mask, width in cases]
