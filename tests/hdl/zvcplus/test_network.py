"""The network of the compressor, against places counted one by one."""

import pytest

from cdma.hdl.zvcplus.network import BitPacker

SIZES = pytest.mark.parametrize(
    ("lanes", "word_bits"),
    [(2, 2), (4, 4), (2, 16), (8, 32), pytest.param(32, 8, marks=pytest.mark.slow)],
)


def cases(lanes, word_bits, rng, count=12):
    """Offsets and widths of fields: all full, none, and random ones."""
    found = [(0, [word_bits] * lanes), (1, [word_bits] * lanes), (5 % word_bits, [0] * lanes)]
    for _ in range(count):
        widths = rng.integers(word_bits + 1, size=lanes)
        widths *= rng.random(lanes) < rng.random()
        found.append((int(rng.integers(lanes * word_bits)), widths.tolist()))
    return found


def places_of(offset, widths, size):
    """Place of the first bit of each field."""
    return [(offset + sum(widths[:index])) % size for index in range(len(widths))]


def random_words(lanes, word_bits, rng):
    return [int(rng.integers(1 << word_bits)) for _ in range(lanes)]


def bit_of(value, place):
    return value >> place & 1


@SIZES
def test_packer_brings_fields_to_consecutive_places(play, rng, lanes, word_bits):
    size, latency = lanes * word_bits, BitPacker.latency(lanes, word_bits)
    rows, expected = [], []
    for offset, widths in cases(lanes, word_bits, rng):
        words = random_words(lanes, word_bits, rng)
        rows.append({"words": words, "starts": places_of(offset, widths, size), "enable": 1})
        field_bits = [
            bit_of(word, place)
            for word, width in zip(words, widths, strict=True)
            for place in range(width)
        ]
        expected.append({(offset + rank) % size: bit for rank, bit in enumerate(field_bits)})
    seen = play(BitPacker(lanes, word_bits), rows + [{}] * latency, ["bits"])["bits"][latency:]
    for given, places in zip(seen, expected, strict=True):
        assert {place: bit_of(given, place) for place in places} == places


def test_beats_wait_while_not_enabled(play, rng):
    """Stalled at random, what comes out is in cycles with enable what comes out without stalls."""
    lanes, word_bits = 4, 4
    rows = []
    for offset, widths in cases(lanes, word_bits, rng):
        words = random_words(lanes, word_bits, rng)
        rows.append({"words": words, "starts": places_of(offset, widths, 16)})
    plain = play(BitPacker(lanes, word_bits), [row | {"enable": 1} for row in rows], ["bits"])
    stalled = []
    for row in rows:
        stalled += [row | {"enable": 0}] * int(rng.integers(3)) + [row | {"enable": 1}]
    seen = play(BitPacker(lanes, word_bits), stalled, ["bits"])["bits"]
    taken = [value for value, row in zip(seen, stalled, strict=True) if row["enable"]]
    assert taken == plain["bits"]


def test_latencies():
    """Of eight levels of a row of 256 bits, five are in front of the only register and three
    behind."""
    sizes = ((8, 32), (16, 16), (32, 8))
    assert {BitPacker.latency(*size) for size in sizes} == {1}
    assert BitPacker.latency(2, 2) == 0


@pytest.mark.parametrize(
    ("lanes", "word_bits", "message"),
    [
        (3, 8, "^Number of lanes must be a power of two of at least 2, not 3$"),
        (1, 8, "^Number of lanes must be a power of two of at least 2, not 1$"),
        (8, 24, "^Width of a word must be a power of two of at least 2, not 24$"),
    ],
)
def test_sizes_that_make_no_butterfly(lanes, word_bits, message):
    with pytest.raises(ValueError, match=message):
        BitPacker(lanes, word_bits)
