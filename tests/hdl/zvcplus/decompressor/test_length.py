"""The length of a payload, against a product."""

import pytest

from cdma.hdl.zvcplus.decompressor.length import PayloadLength


@pytest.mark.parametrize(
    ("words", "word_bits", "groups"),
    [
        (32, 32, 1),
        pytest.param(64, 16, 1, marks=pytest.mark.slow),
        pytest.param(128, 8, 8, marks=pytest.mark.slow),
    ],
)
def test_length_is_ones_times_width(play, rng, words, word_bits, groups):
    top, size = (1 << words) - 1, words // groups
    cases = [(0, [9 % word_bits] * groups), (top, [word_bits] * groups)]
    for _ in range(100):
        mask = int.from_bytes(rng.bytes(16), "little") & top
        cases.append((mask, rng.integers(word_bits + 1, size=groups).tolist()))
    rows = []
    for mask, widths in cases:
        rows += [
            {"mask": mask, "widths": widths, "load_count": 1, "load_length": 0},
            {"mask": 0, "widths": [0] * groups, "load_count": 0, "load_length": 1},
            {"load_length": 0},
        ]
    seen = play(PayloadLength(words, word_bits, groups), rows, ["length"])["length"][2::3]
    assert seen == [
        sum(
            (mask >> size * group & (1 << size) - 1).bit_count() * width
            for group, width in enumerate(widths)
        )
        for mask, widths in cases
    ]


def test_repeated_words_have_one_bit(play, rng):
    cases = []
    for _ in range(100):
        mask = int.from_bytes(rng.bytes(4), "little")
        wanted, used = int(rng.integers(33)), int(rng.integers(2))
        cases.append((mask, int(rng.integers(33)), used, wanted))
    rows = []
    for mask, width, used, wanted in cases:
        known = {"mask": mask, "widths": [width], "has_repeats": used, "repeats": wanted}
        rows += [
            {**known, "load_count": 1, "load_length": 0},
            {"mask": 0, "widths": [0], "load_count": 0, "load_length": 1},
            {"load_length": 0},
        ]
    names = ["length", "repeat_bits", "count", "repeated", "is_many"]
    seen = play(PayloadLength(32, 32, has_repeats=True), rows, names)
    found = list(zip(*(seen[name][2::3] for name in names), strict=True))
    expected = []
    for mask, width, used, wanted in cases:
        ones = mask.bit_count()
        repeated = min(wanted, ones) * used
        bits = ones * used
        is_many = int(used and wanted > ones)
        expected.append(((ones - repeated) * width + bits, bits, ones, repeated, is_many))
    assert found == expected


def test_groups_divide_the_words():
    with pytest.raises(ValueError, match=r"^Number of groups must divide the 32 words, not 3$"):
        PayloadLength(32, 32, 3)
