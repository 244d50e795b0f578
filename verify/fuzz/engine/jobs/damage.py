"""Damaged streams and indexes."""

from random import Random

import numpy as np

from cdma.engine_config import INDEX_BYTES, EngineConfig


def damaged(
    stream: np.ndarray, index: np.ndarray, config: EngineConfig, random: Random
) -> tuple[np.ndarray, np.ndarray, int]:
    """A stream and an index with a damage, and the limit for both.

    Parameters
    ----------
    stream, index : np.ndarray of uint8
        Of an offload of some words.
    config : EngineConfig
    random : Random
    """
    stream, index = stream.copy(), index.copy()
    limit = stream.size
    kind = random.choice((_flip, _flip_index, _resize, _cut, _extend, _noise))
    return kind(stream, index, limit, config, random)


def _flip(stream, index, limit, config, random):
    """Bits of the stream."""
    for _ in range(random.randrange(1, 4)):
        stream[random.randrange(stream.size)] ^= 1 << random.randrange(8)
    return stream, index, limit


def _flip_index(stream, index, limit, config, random):
    """A bit of the index."""
    index[random.randrange(index.size)] ^= 1 << random.randrange(8)
    return stream, index, limit


def _resize(stream, index, limit, config, random):
    """A size that is not that of its stripe; half of the time the sum is right."""
    step = 1 if config.has_padding else config.word_bytes
    change = step * random.choice((-2, -1, 1, 2, random.randrange(-40, 41)))
    entry = random.randrange(index.size // INDEX_BYTES)
    places = [(entry, change)]
    if entry and random.random() < 0.5:
        places.append((entry - 1, -change))
    for place, by in places:
        at = INDEX_BYTES * place
        size = max(0, int.from_bytes(index[at : at + 3].tobytes(), "little") + by)
        index[at : at + 3] = list(size.to_bytes(3, "little"))
    return stream, index, limit


def _cut(stream, index, limit, config, random):
    """A stream that is too short."""
    left = config.word_bytes * random.randrange(stream.size // config.word_bytes)
    return stream[:left], index, left


def _extend(stream, index, limit, config, random):
    """A stream that is too long."""
    more = np.resize(stream, config.word_bytes * random.randrange(1, 20))
    stream = np.concatenate([stream, more])
    return stream, index, stream.size


def _noise(stream, index, limit, config, random):
    """Some words of the stream are others."""
    at = random.randrange(stream.size)
    size = min(random.randrange(1, 40), stream.size - at)
    stream[at : at + size] = np.frombuffer(random.randbytes(size), np.uint8)
    return stream, index, limit
