"""Offload and prefetch written down a second time, from ``docs/engine.md``: a stripe at a time.

Uses the slow encoder and decoder of ``tests/golden/reference.py``, nothing of the golden engine.
"""

import zlib
from dataclasses import dataclass


@dataclass
class Result:
    """What is in memory afterwards, and the completion."""

    data: bytes | list[int]
    index: bytes = b""
    status: int = 0
    bytes: int = 0
    stripe: int = 0
    where: int = 0
    raw: int = 0
    written: int = 0


def cut(words, config):
    """Stripes of a list of words."""
    size = config.stripe_words
    return [words[first : first + size] for first in range(0, len(words), size)]


def as_bytes(words, config):
    return b"".join(word.to_bytes(config.word_bytes, "little") for word in words)


def offload(reference, words, config, raw, limit, crc):
    """A list of ints to a Result with the stream's bytes."""
    distance = max(32, 4096 * config.lanes * config.word_bytes // config.stripe_bytes)
    result = Result(b"")
    exceeds = []
    for number, stripe in enumerate(cut(words, config)):
        plain, coded = as_bytes(stripe, config), reference.encode(stripe, config.format)
        exceeds.append(len(coded) > len(plain))
        is_raw = raw == "always"
        if raw == "auto" and number >= distance:
            is_raw = exceeds[number - distance]
        part = plain if is_raw else coded
        if limit is not None and len(result.data) + len(part) > limit and result.status == 0:
            result.status, result.stripe, result.where = 16, number, limit
        result.data += part
        flags = len(part) | is_raw << 24 | crc << 25
        check = zlib.crc32(part) if crc else 0
        result.index += flags.to_bytes(4, "little") + check.to_bytes(4, "little")
        result.raw += is_raw
    result.bytes = len(result.data)
    if result.status == 0:
        result.stripe = len(exceeds)
    else:
        result.data = result.data[:limit]
    return result


def prefetch(reference, stream, index, count, config, limit, crc):
    """Bytes of stream and index to a Result with a list of words."""
    result = Result([])
    first_error = None
    at = 0
    stripes = cut([0] * count, config)
    for number, stripe in enumerate(stripes):
        flags = int.from_bytes(index[8 * number : 8 * number + 4], "little")
        check = int.from_bytes(index[8 * number + 4 : 8 * number + 8], "little")
        size, is_raw, has_crc = flags & 0xFFFFFF, flags >> 24 & 1, flags >> 25 & 1
        plain = len(stripe) * config.word_bytes
        masks = -(-len(stripe) // config.block_words) * config.format.mask_bytes
        if is_raw:
            fits = size == plain
        else:
            fits = masks <= size <= masks + plain and size % config.word_bytes == 0
        if flags >> 26 or not fits or at + size > limit:
            if first_error is None:
                first_error = number, 17, at, at
            break
        part = stream[at : at + size]
        if is_raw:
            step = config.word_bytes
            words = [int.from_bytes(part[i : i + step], "little") for i in range(0, size, step)]
            offset, code = 0, 0
        else:
            words, offset, code = reference.decode(part, len(stripe), config.format, False)
        if first_error is None and crc and has_crc and zlib.crc32(part) != check:
            first_error = number, 18, at, at
        if first_error is None and code:
            first_error = number, int(code), at + offset, at
        result.data += words
        result.raw += is_raw
        at += size
    result.written = len(result.data)
    if first_error is None and count and at < limit:
        first_error = len(stripes), 17, at, at
    result.data += [0] * (count - len(result.data))
    if first_error is None:
        result.stripe, result.bytes = len(stripes), at
    else:
        result.stripe, result.status, result.where, result.bytes = first_error
    return result
