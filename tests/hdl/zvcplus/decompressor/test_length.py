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
        base = int(rng.integers(1 << 13))
        counts = counts_of(mask, words)
        rows += [{"counts": counts, "widths": widths, "base": base}, {}, {}, {"base": 0}, {}, {}]
    seen = play(PayloadLength(words, word_bits, groups), rows, ["sum", "carry", "length"])
    expected = [
        sum(
            (mask >> size * group & (1 << size) - 1).bit_count() * width
            for group, width in enumerate(widths)
        )
        for mask, widths in cases
    ]
    assert seen["length"][5::6] == expected
    ends = zip(seen["sum"][2::6], seen["carry"][2::6], strict=True)
    assert [(total + carry) % (1 << 13) for total, carry in ends] == [
        (row["base"] + length) % (1 << 13) for row, length in zip(rows[::6], expected, strict=True)
    ]


def counts_of(mask: int, words: int) -> list[int]:
    """Ones in each nibble."""
    return [(mask >> place & 15).bit_count() for place in range(0, words, 4)]


def test_repeated_words_have_one_bit(play, rng):
    cases = []
    for _ in range(100):
        mask = int.from_bytes(rng.bytes(4), "little")
        wanted, used = int(rng.integers(33)), int(rng.integers(2))
        cases.append((mask, int(rng.integers(33)), used, wanted))
    rows = []
    for mask, width, used, wanted in cases:
        known = {"counts": counts_of(mask, 32), "widths": [width]}
        rows += [{**known, "has_repeats": used, "repeats": wanted}, {}, {}, {}]
    names = ["length", "repeat_bits", "repeated", "is_many"]
    seen = play(PayloadLength(32, 32, has_repeats=True), rows, names)
    found = list(zip(*(seen[name][3::4] for name in names), strict=True))
    expected = []
    for mask, width, used, wanted in cases:
        ones = mask.bit_count()
        repeated = min(wanted, ones) * used
        bits = ones * used
        is_many = int(used and wanted > ones)
        expected.append(((ones - repeated) * width + bits, bits, repeated, is_many))
    assert found == expected


def test_the_length_of_groups_with_repeats_is_given(play, rng):
    """Eight groups of 16 words; without repeats, their length is a sum of products."""
    cases = []
    for _ in range(100):
        mask = int.from_bytes(rng.bytes(16), "little") & int.from_bytes(rng.bytes(16), "little")
        widths = rng.integers(9, size=8).tolist()
        cases.append((mask, widths, int(rng.integers(1024)), int(rng.integers(2))))
    rows = []
    for mask, widths, given, used in cases:
        known = {"counts": counts_of(mask, 128), "widths": widths}
        rows += [{**known, "has_repeats": used, "repeats": given}, {}, {}, {}]
    names = ["ones", "repeat_bits", "length"]
    seen = play(PayloadLength(128, 8, 8, has_repeats=True), rows, names)
    for number, (mask, widths, given, used) in enumerate(cases):
        ones = [(mask >> 16 * group & 0xFFFF).bit_count() for group in range(8)]
        assert seen["ones"][4 * number + 1] == ones
        assert seen["repeat_bits"][4 * number + 1] == sum(ones) * used
        length = sum(count * width for count, width in zip(ones, widths, strict=True))
        assert seen["length"][4 * number + 3] == (given if used else length)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((32, 32, 3), "Number of groups must divide the 8 nibbles, not 3"),
        ((32, 24), "Bits of a word must be a power of two, not 24"),
    ],
)
def test_sizes_are_refused(sizes, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        PayloadLength(*sizes)
