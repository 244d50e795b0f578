"""Packets with difficult cases for a zero-value codec, structured by the positions of their zeros.

All functions return unsigned little-endian words of a format, shape ``(n,)``. Functions with random
values take a ``numpy.random.Generator``.
"""

import numpy as np

from cdma import zvcplus
from cdma.format import Format, StreamFormat
from cdma.golden.codecs import codec_of
from cdma.hdl.codecs import UnitConfig
from cdma.sim import damage


def random_words(
    count: int, density: float, fmt: StreamFormat, rng: np.random.Generator
) -> np.ndarray:
    """Random words, each non-zero with probability ``density``."""
    words = _VALUES[type(fmt)](count, fmt, rng)
    return np.where(rng.random(count) < density, words, 0).astype(fmt.dtype)


def _any_values(count, fmt, rng):
    """Words of any bits, not zero."""
    return rng.integers(1, np.iinfo(fmt.dtype).max, count, fmt.dtype, endpoint=True)


def _near_values(count, fmt, rng):
    """Words whose exponents are near each other, or far; few negative, or many; not zero.

    For int8, words of a few bits, here and there in groups of more. With repeats, words that are
    as the one before, in some packets.
    """
    word = fmt.word
    if fmt.repeats != "none":
        words = _near_values(count, zvcplus.Format(fmt.type), rng)
        is_new = rng.random(count) >= rng.choice([0, 0.2, 0.6, 0.95, 1])
        return words[np.maximum.accumulate(np.where(is_new, np.arange(count), 0))]
    if not word.is_float:
        bits = np.full(count, rng.integers(0, word.bits + 1))
        for size in (16, 32):
            groups = rng.integers(0, word.bits + 1, count // size + 1)
            is_other = rng.random(groups.size) < rng.choice([0, 0.2, 1])
            here = np.repeat(is_other, size)[:count]
            bits[here] = np.repeat(groups, size)[:count][here]
        return (rng.integers(0, 256, count) % (1 << bits) + 1).clip(1, 255).astype(fmt.dtype)
    most = (1 << word.exponent) - 1
    spread = int(rng.choice([0, 1, 3, 6, 20, 63, 64, most]))
    exponents = np.maximum(rng.integers(most + 1) - rng.integers(0, spread + 1, count), 0)
    signs = rng.random(count) < rng.choice([0, 0, 0.02, 0.5])
    mantissas = rng.integers(0, 1 << word.mantissa, count)
    words = signs.astype(int) << word.bits - 1 | exponents << word.mantissa | mantissas
    return np.maximum(words, 1).astype(fmt.dtype)


#: Words that are not zero, by the type of a format: each choice of an encoder is to be made.
_VALUES = {Format: _any_values, zvcplus.Format: _near_values}


def lengths(config: UnitConfig) -> list[int]:
    """Lengths around the limits of beat and block, in words."""
    beat, block = config.lanes, config.format.block_words
    around = {0, 1, 2, beat - 1, beat, beat + 1, block - beat, block - 1, block, block + 1}
    return sorted(around | {block + beat, 2 * block - 1, 2 * block, 3 * block + beat // 2})


def corner_packets(config: UnitConfig, rng: np.random.Generator) -> list[np.ndarray]:
    """Packets of each length in :func:`lengths`: zeros, non-zeros, and a mixture."""
    return [
        random_words(count, density, config.format, rng)
        for count in lengths(config)
        for density in (0.0, 0.5, 1.0)
    ]


def value_packets(config: UnitConfig) -> list[np.ndarray]:
    """Words with special values: all ones, minus zero, one bit set, NaN, infinity.

    Every such word is non-zero. The last packet mixes these words with zeros.
    """
    fmt = config.format
    bits = fmt.word_bits
    top = 1 << (bits - 1)
    quiet_nan = {16: 0x7E00, 32: 0x7FC00001, 64: 0x7FF8000000000001}.get(bits, top | 1)
    infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}.get(bits, top >> 1)
    special = [top, (1 << bits) - 1, 1, quiet_nan, infinity, quiet_nan | top]
    count = fmt.block_words + config.lanes + 1
    packets = [np.full(count, value, fmt.dtype) for value in special]
    single_bits = [1 << (index % bits) for index in range(2 * bits)]
    mixed = [value for value in special for value in (value, 0)] * (count // 6)
    return [*packets, np.array(single_bits, fmt.dtype), np.array(mixed, fmt.dtype)]


def place_packets(config: UnitConfig) -> list[np.ndarray]:
    """One non-zero word at each place of a block, one zero at each place, runs, alternations."""
    fmt = config.format
    block = fmt.block_words
    counting = np.arange(1, block + 1).astype(fmt.dtype)
    one_hot = np.eye(block, dtype=fmt.dtype) * np.array(0xA5, fmt.dtype)
    one_cold = np.where(np.eye(block, dtype=bool), 0, counting).astype(fmt.dtype)
    place = np.arange(8 * block)
    runs = [(place // run) % 2 for run in (1, 2, 3, config.lanes, config.lanes + 1, block)]
    return [
        one_hot.reshape(-1),
        one_cold.reshape(-1),
        *[(run * (place % 250 + 1)).astype(fmt.dtype) for run in runs],
        *[((1 - run) * (place % 250 + 1)).astype(fmt.dtype) for run in runs],
    ]


def block_mix_packets(config: UnitConfig, rng: np.random.Generator, blocks: int = 24) -> list:
    """Dense and empty blocks in all orders that could add a cycle.

    Dense first, empty first, alternating, one in four. Each is shifted by other words, so that the
    stream has every alignment to a beat.
    """
    fmt = config.format
    kinds = [
        [index < blocks // 2 for index in range(blocks)],
        [index >= blocks // 2 for index in range(blocks)],
        [index % 2 == 0 for index in range(blocks)],
        [index % 4 == 0 for index in range(blocks)],
        [True] * blocks,
        [False] * blocks,
    ]
    packets = []
    for shift in range(min(config.lanes, 8)):
        for kind in kinds:
            first = np.zeros(fmt.block_words, fmt.dtype)
            first[:shift] = 1
            rest = [random_words(fmt.block_words, float(dense), fmt, rng) for dense in kind]
            packets.append(np.concatenate([first, *rest]))
    return packets


def tail_packets(config: UnitConfig) -> list[np.ndarray]:
    """A block whose first beat ends at the end of a beat of the stream. The other beats of the
    block are empty, or have one non-zero word at each place. So the stream ends there or not.

    Of ZVC+, whose blocks end at any bit, the same blocks end at many places."""
    fmt = config.format
    first = np.zeros(fmt.block_words, fmt.dtype)
    first[: max(config.lanes - fmt.block_words // fmt.word_bits, 0)] = 3
    packets = [first]
    for place in range(config.lanes, fmt.block_words):
        packets.append(first.copy())
        packets[-1][place] = 5
    return packets


def odd_word_packets(config: UnitConfig) -> list[np.ndarray]:
    """For ZVC+: at each place of a block, one word that differs from all others in one bit of its
    exponent, or of int8 in any bit. For other codecs nothing: they look for zeros only.

    Exponents are the smallest, so that one word has an exponent of 0, and some in the middle."""
    if config.codec != "zvcplus":
        return []
    fmt, word = config.format, config.word
    bits = np.arange(word.exponent or word.bits)
    places = np.arange(fmt.block_words)
    found = []
    for value in (1, 1 << bits.size - 2):
        blocks = np.full((bits.size, places.size, places.size), value, np.int64)
        blocks[:, places, places] ^= 1 << bits[:, None]
        # No two neighbours are equal: nothing is repeated.
        mantissas = 1 + places % 2 if word.is_float else 0
        found.append((blocks << word.mantissa | mantissas).reshape(-1).astype(fmt.dtype))
    return found


def span_packets(config: UnitConfig, rng: np.random.Generator) -> list[np.ndarray]:
    """For ZVC+ of floats: blocks of each span of exponents and each number of zeros at which a
    block is sent as it is, or just not, behind a base that is near and one that is not. For other
    codecs and types nothing.

    Spans are powers of two, and less by one, from any least exponent. Zeros are in few nibbles of
    the mask, or in many. Some blocks have negative words.
    """
    if config.codec != "zvcplus" or not config.word.is_float:
        return []
    fmt, word = config.format, config.word
    size, most = fmt.block_words, (1 << word.exponent) - 1
    spans = {(1 << bits) - less for bits in range(word.exponent + 1) for less in (0, 1)}
    found = []
    for zeros in [*range(config.most_zeros + 2)] * 12:
        for span in sorted(spans - {0, most + 1}):
            least = int(rng.integers(most - span + 1))
            # Blocks of one exponent give the base for those behind them.
            exponents = rng.integers(least, least + span, (4, size), endpoint=True)
            exponents[0], exponents[2] = least + span, rng.integers(most + 1)
            is_zero = np.zeros((4, size), bool)
            is_zero[1, rng.permutation(size)[:zeros]] = True
            is_zero[3, :zeros] = True
            for block in (1, 3):
                ends = rng.permutation(np.flatnonzero(~is_zero[block]))[:2]
                exponents[block, ends] = least, least + span
            words = exponents << word.mantissa | rng.integers(1, 1 << word.mantissa, (4, size))
            is_negative = rng.random((4, size)) < rng.choice([0, 0.1], (4, 1))
            words |= is_negative.astype(np.int64) << word.bits - 1
            found.append(np.where(is_zero, 0, words).reshape(-1).astype(fmt.dtype))
    return found


def packets(config: UnitConfig, seed: int = 0) -> list[np.ndarray]:
    """A selection of all packets above and random packets, in random order."""
    rng = np.random.default_rng(seed)
    fmt = config.format
    found = corner_packets(config, rng) + value_packets(config) + place_packets(config)
    found += tail_packets(config) + odd_word_packets(config)
    found += [
        random_words(int(rng.integers(1, 12 * fmt.block_words)), density, fmt, rng)
        for density in (0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98)
    ]
    return [found[index] for index in rng.permutation(len(found))]


def with_zeros_of(fmt: StreamFormat, words: np.ndarray) -> np.ndarray:
    """Words whose zeros are those that a format omits.

    The format's zero value and 0 change places. Where -0.0 is folded, every third zero is -0.0.
    """
    if not isinstance(fmt, Format) or fmt.is_plain:
        return words
    zero = np.array(fmt.zero_value, fmt.dtype)
    found = np.where(words == 0, zero, np.where(words == zero, 0, words)).astype(fmt.dtype)
    if fmt.fold_negative_zero:
        found[np.flatnonzero(found == 0)[::3]] = 1 << fmt.word_bits - 1
    return found


def streams(words: list[np.ndarray], config: UnitConfig) -> list[tuple[bytes, int | None]]:
    """Input of a decompressor for each of ``words``, as :func:`fed` gives them to a compressor: the
    golden stream and the word count, which is ``None`` with a tail of ones."""
    return offered([(_stream(packet, config.format), packet.size) for packet in words], config)


def _stream(words, fmt):
    return codec_of(fmt).compress(with_zeros_of(fmt, words), fmt).tobytes()


def offered(pairs, config):
    """Pairs of a stream and its word count; with a tail of ones, the count is ``None``."""
    return [(stream, None) for stream, _ in pairs] if config.format.ends_itself else pairs


def fed(unit: str, words: list[np.ndarray], config: UnitConfig) -> list:
    """Input of a compressor or decompressor for packets of words: the packets, with the zeros that
    the format omits, or their streams."""
    if unit != "compressor":
        return streams(words, config)
    return [with_zeros_of(config.format, packet) for packet in words]


def malformed(config: UnitConfig, rng: np.random.Generator) -> list[tuple[bytes, int | None]]:
    """Malformed streams, each followed by a correct packet.

    A stream of two and a half blocks cut at every byte; extended by a byte, a word, a beat, three
    beats; with the errors of :func:`cdma.sim.damage.aimed`; a command that is too long or too
    short; random bytes; long noise for a command of no words.
    """
    fmt = config.format
    count = 2 * fmt.block_words + fmt.block_words // 2 + 1
    words = random_words(count, 0.4, fmt, rng)
    stream = _stream(words, fmt)
    bad = [(stream[:size], count) for size in range(len(stream))]
    for extra in (1, fmt.word_bytes, config.beat_bytes, 3 * config.beat_bytes + 1):
        bad.append((stream + rng.bytes(extra), count))
    bad += damage.aimed(words, stream, config, rng)
    for wrong in (0, 1, config.lanes, count - fmt.block_words, count + 1, 4 * count):
        bad.append((stream, wrong))
    for _ in range(40):
        size, wanted = rng.integers(0, 12 * fmt.block_words, 2)
        bad.append((rng.bytes(int(size)), int(wanted)))
    bad.append((rng.bytes(20 * config.beat_bytes), 0))
    good = streams([random_words(n, 0.5, fmt, rng) for n in (1, fmt.block_words, 3)], config)
    bad = offered(bad, config)
    return [packet for index, wrong in enumerate(bad) for packet in (wrong, good[index % 3])]
