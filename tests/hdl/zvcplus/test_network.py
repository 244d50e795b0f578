"""Networks for bits, against places counted one by one."""

import pytest

from cdma.hdl.zvcplus.network import BitPacker, BitUnpacker

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


@SIZES
def test_unpacker_brings_fields_to_their_words(play, rng, lanes, word_bits):
    size, latency = lanes * word_bits, BitUnpacker.latency(lanes, word_bits)
    rows, expected = [], []
    for offset, widths in cases(lanes, word_bits, rng):
        bits = int.from_bytes(rng.bytes(-(-size // 8)), "little") & (1 << size) - 1
        starts = places_of(offset, widths, size)
        rows.append({"bits": bits, "starts": starts, "enable": 1})
        expected.append(
            [
                [bit_of(bits, (start + place) % size) for place in range(width)]
                for start, width in zip(starts, widths, strict=True)
            ]
        )
    seen = play(BitUnpacker(lanes, word_bits), rows + [{}] * latency, ["words"])["words"]
    for given, fields in zip(seen[latency:], expected, strict=True):
        found = [
            [bit_of(word, place) for place in range(len(field))]
            for word, field in zip(given, fields, strict=True)
        ]
        assert found == fields


@pytest.mark.parametrize(
    ("network", "way_in", "way_out"),
    [(BitPacker, "words", "bits"), (BitUnpacker, "bits", "words")],
)
def test_beats_wait_while_not_enabled(play, rng, network, way_in, way_out):
    """Stalled at random, what comes out is in cycles with enable what comes out without stalls."""
    lanes, word_bits = 4, 4
    rows = []
    for offset, widths in cases(lanes, word_bits, rng):
        words = random_words(lanes, word_bits, rng)
        value = words if way_in == "words" else sum(each << 4 * i for i, each in enumerate(words))
        rows.append({way_in: value, "starts": places_of(offset, widths, 16)})
    plain = play(network(lanes, word_bits), [row | {"enable": 1} for row in rows], [way_out])
    stalled = []
    for row in rows:
        stalled += [row | {"enable": 0}] * int(rng.integers(3)) + [row | {"enable": 1}]
    seen = play(network(lanes, word_bits), stalled, [way_out])[way_out]
    taken = [value for value, row in zip(seen, stalled, strict=True) if row["enable"]]
    assert taken == plain[way_out]


@pytest.mark.parametrize(("network", "least", "cycles"), [(BitPacker, 0, 1), (BitUnpacker, 0, 2)])
def test_latencies(network, least, cycles):
    """Of eight levels of a row of 256 bits, a packer has five in front of its only register and
    three behind; an unpacker two in front of the first, and three behind each of two."""
    assert network.latency(8, 32) == network.latency(16, 16) == network.latency(32, 8) == cycles
    assert network.latency(2, 2) == least


@pytest.mark.parametrize("network", [BitPacker, BitUnpacker])
@pytest.mark.parametrize(
    ("lanes", "word_bits", "message"),
    [
        (3, 8, "^Number of lanes must be a power of two of at least 2, not 3$"),
        (1, 8, "^Number of lanes must be a power of two of at least 2, not 1$"),
        (8, 24, "^Width of a word must be a power of two of at least 2, not 24$"),
    ],
)
def test_sizes_that_make_no_butterfly(network, lanes, word_bits, message):
    with pytest.raises(ValueError, match=message):
        network(lanes, word_bits)
