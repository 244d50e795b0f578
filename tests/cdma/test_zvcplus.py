import re

import pytest

from cdma.zvcplus import TYPES, Format


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"type": "fp64"}, ValueError, "Type must be one of fp32, fp16, bf16, int8, not 'fp64'"),
        ({"type": 32}, ValueError, "Type must be one of fp32, fp16, bf16, int8, not 32"),
        ({"repeats": "up"}, ValueError, "Repeats must be one of none, left, above, not 'up'"),
        ({"repeats": "above"}, ValueError, "distance must be in 1..1024 words, not 0"),
        (
            {"type": "int8", "repeats": "above", "distance": 4097},
            ValueError,
            "distance must be in 1..4096 words, not 4097",
        ),
        (
            {"repeats": "above", "distance": 2.0},
            TypeError,
            "distance must be an integer, not 2.0",
        ),
        (
            {"repeats": "above", "distance": 9, "min_beats": 0},
            ValueError,
            "min_beats must be in 1..4294967295, not 0",
        ),
        (
            {"repeats": "above", "distance": 9, "min_beats": 1 << 32},
            ValueError,
            "min_beats must be in 1..4294967295, not 4294967296",
        ),
        ({"distance": 9}, ValueError, 'distance and min_beats are for repeats "above" only'),
        ({"repeats": "left", "min_beats": 2}, ValueError, "distance and min_beats are for repeats"),
    ],
)
def test_refused(options, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        Format(**options)


@pytest.mark.parametrize("type_", TYPES)
def test_blocks_have_128_bytes(type_):
    fmt = Format(type_)
    assert fmt.block_words * fmt.word_bytes == 128
    assert fmt.word.beat_words * fmt.word_bytes == 32
    assert fmt.word.bits == (1 + fmt.word.mantissa + fmt.word.exponent if fmt.word.is_float else 8)


@pytest.mark.parametrize(("words", "blocks"), [(0, 0), (1, 1), (32, 1), (33, 2)])
def test_sizes(words, blocks):
    fmt = Format()
    assert fmt.blocks(words) == blocks
    assert fmt.least_bytes(words) == (2 * blocks + 7) // 8
    assert fmt.most_bytes(words) == (1029 * blocks + 7) // 8
