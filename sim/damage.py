"""Streams with an error that random damage seldom makes, by codec."""

from collections.abc import Iterator

import numpy as np

from cdma.golden.codecs import codec_of
from cdma.hdl.codecs import UnitConfig

#: Extensions of ZVC+: reserved, and wide words with a raw mask or without a mask.
RESERVED, WIDE_RAW_MASK, WIDE_DENSE = 3, 5, 6


def aimed(
    words: np.ndarray, stream: bytes, config: UnitConfig, rng: np.random.Generator
) -> Iterator[tuple[bytes, int]]:
    """Malformed streams of a packet, with their number of words: masks that mark words past the
    end, with and without these words, and what else the codec's decoder looks for.

    Parameters
    ----------
    words : ndarray of words, shape (n,)
        The packet; the last block is partial.
    stream : bytes
        Its stream.
    config : UnitConfig
        Size of the unit.
    rng : numpy.random.Generator
        For bytes that do not matter.
    """
    return _AIMED[config.codec](words, stream, config, rng)


def marked(
    stream: bytes, count: int, config: UnitConfig, rng: np.random.Generator
) -> tuple[bytes, int] | None:
    """A stream with one of the errors of :func:`aimed`, at random; ``None`` when it has no partial
    block that could have one."""
    return _MARKED[config.codec](stream, count, config, rng)


def _aimed_zvc(words, stream, config, rng):
    fmt, count = config.format, words.size
    whole = count // fmt.block_words * fmt.block_words
    last_mask = fmt.stream_bytes(whole, np.count_nonzero(words[:whole]))
    for bit in range(count - whole, fmt.block_words):
        flipped = bytearray(stream)
        flipped[last_mask + bit // 8] |= 1 << bit % 8
        yield bytes(flipped), count
        yield bytes(flipped) + bytes([1] * fmt.word_bytes), count


def _marked_zvc(stream, count, config, rng):
    fmt = config.format
    inside = count % fmt.block_words
    if not inside:
        return None
    at = 0
    for _ in range(count // fmt.block_words):
        mask = int.from_bytes(stream[at : at + fmt.mask_bytes], "little")
        at += fmt.mask_bytes + fmt.word_bytes * mask.bit_count()
    spoiled = bytearray(stream)
    bit = int(rng.integers(inside, fmt.block_words))
    spoiled[at + bit // 8] |= 1 << bit % 8
    return bytes(spoiled) + rng.bytes(fmt.word_bytes * int(rng.integers(2))), count


def _aimed_plus(words, stream, config, rng):
    fmt, count = config.format, words.size
    size, compress = fmt.block_words, codec_of(fmt).compress
    whole = np.resize(words[words != 0], -(-count // size) * size)
    noise = rng.integers(1, 1 << fmt.word_bits, whole.size).astype(fmt.dtype)
    for longer in (whole, noise):  # dense, and raw
        sent = compress(longer, fmt).tobytes()
        yield from ((sent, fewer) for fewer in range(whole.size - size + 1, whole.size))
    yield from _controls_plus(stream, count, config, rng)


def _controls_plus(stream, count, config, rng):
    """Streams that begin with a control that no encoder writes, and the stream behind it."""
    controls = [(extended(RESERVED), 5), longest_words(WIDE_DENSE, config)]
    if config.has_repeats:  # the number of repeated words is wrong, of int8 the length
        controls.append((extended(WIDE_DENSE) | 1 << 5, 12))
    for control, bits in controls:
        first = begin_with(control, bits, rng, 140)
        for behind in (b"", stream):
            yield first + behind, count


def extended(extension: int) -> int:
    """The first five bits of a control of ZVC+ with an extension: mode 3, and the extension."""
    return 3 | extension << 2


def longest_words(extension: int, config: UnitConfig) -> tuple[int, int]:
    """A control of ZVC+ up to its mask, and how many bits it has: exponents are as they are, or
    words have 8 bits, so that a whole block has more than 1,029 bits."""
    longest, bits = (7 << 8, 11) if config.word.is_float else (0xFFF << 6, 18)
    return extended(extension) | longest << config.has_repeats, bits + config.has_repeats


def begin_with(control: int, bits: int, rng: np.random.Generator, size: int) -> bytes:
    """``size`` bytes that begin with the ``bits`` bits of ``control``; any bits follow."""
    noise = int.from_bytes(rng.bytes(size), "little")
    return (noise >> bits << bits | control).to_bytes(size, "little")


def _marked_plus(stream, count, config, rng):
    count = max(count, 1)
    words = rng.integers(1, 1 << config.word.bits, count).astype(config.format.dtype)
    if rng.random() < 0.5:
        words = words & (1 << config.word.mantissa) - 1 | 1 << config.word.mantissa
    # Half of them with a control that no encoder writes.
    found = list(
        _controls_plus(stream, count, config, rng)
        if rng.random() < 0.5
        else _aimed_plus(words.astype(config.format.dtype), stream, config, rng)
    )
    return found[rng.integers(len(found))]


_AIMED = {"zvc": _aimed_zvc, "zvcplus": _aimed_plus}
_MARKED = {"zvc": _marked_zvc, "zvcplus": _marked_plus}
