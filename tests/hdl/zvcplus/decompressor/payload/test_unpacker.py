"""The network of the decompressor, against places counted one by one."""

import pytest

from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker

LOW_BITS = {2: 1, 4: 2, 5: 2, 8: 4}  # of a place, by its bits


def crossing_of(start: int, levels: int) -> dict:
    """A start, decoded for the first level."""
    low = LOW_BITS[levels]
    above, below = (start & (1 << levels - 1) - 1) >> low, start & (1 << low) - 1
    upper = range(1 << levels - 1 - low)
    return {
        "equal": 1 << above,
        "above": sum(1 << k for k in upper if above > k),
        "below": sum(1 << k for k in range(1 << low) if below > k),
    }


def given(rng, lanes: int, word_bits: int) -> tuple[dict, list[list[int]]]:
    """Inputs with fields of any widths from any place on, and the bits of each field."""
    size = lanes * word_bits
    widths = rng.integers(word_bits + 1, size=lanes) * (rng.random(lanes) < rng.random())
    at, starts = int(rng.integers(size)), []
    for width in widths.tolist():
        starts.append(at % size)
        at += width
    bits = int.from_bytes(rng.bytes(-(-size // 8)), "little") & (1 << size) - 1
    fields = [
        [bits >> (start + place) % size & 1 for place in range(width)]
        for start, width in zip(starts, widths.tolist(), strict=True)
    ]
    crossing = crossing_of(starts[lanes // 2], size.bit_length() - 1)
    return {"bits": bits, "starts": starts, "crossing": crossing}, fields


def cut(words: list[int], fields: list[list[int]]) -> list[list[int]]:
    return [
        [word >> place & 1 for place in range(len(field))]
        for word, field in zip(words, fields, strict=True)
    ]


@pytest.mark.parametrize(
    ("lanes", "word_bits"),
    [(2, 2), (4, 4), (2, 16), (8, 32), (16, 16), pytest.param(32, 8, marks=pytest.mark.slow)],
)
def test_fields_come_to_their_words(play, rng, lanes, word_bits):
    rows, expected = zip(*(given(rng, lanes, word_bits) for _ in range(15)), strict=True)
    rows = [row | {"enable": 1} for row in rows]
    seen = play(FieldUnpacker(lanes, word_bits), [*rows, {}], ["words"])["words"]
    assert [cut(*each) for each in zip(seen[1:], expected, strict=True)] == list(expected)
    assert any(any(field) for fields in expected for field in fields)


def test_beats_wait_while_not_enabled(play, rng):
    rows, expected = zip(*(given(rng, 4, 4) for _ in range(12)), strict=True)
    stalled = []
    for row in rows:
        stalled += [row | {"enable": 0}] * int(rng.integers(3)) + [row | {"enable": 1}]
    stalled.append({"enable": 1})
    seen = play(FieldUnpacker(4, 4), stalled, ["words"])["words"]
    taken = [words for words, row in zip(seen, stalled, strict=True) if row["enable"]]
    assert [cut(*each) for each in zip(taken[1:], expected, strict=True)] == list(expected)


@pytest.mark.parametrize(
    ("lanes", "word_bits", "message"),
    [
        (3, 8, "^Number of lanes must be a power of two of at least 2, not 3$"),
        (8, 24, "^Width of a word must be a power of two of at least 2, not 24$"),
    ],
)
def test_sizes_that_make_no_butterfly(lanes, word_bits, message):
    with pytest.raises(ValueError, match=message):
        FieldUnpacker(lanes, word_bits)
