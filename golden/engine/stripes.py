"""The stripes of a tensor: their bytes in memory, coded sizes, raw flags and addresses."""

import zlib

import numpy as np

from cdma.engine_codes import Raw
from cdma.engine_config import EngineConfig
from cdma.golden.codecs import codec_of


def check_config(config: EngineConfig) -> None:
    """Raise TypeError unless ``config`` is an EngineConfig."""
    if not isinstance(config, EngineConfig):
        raise TypeError(f"Configuration must be an EngineConfig, not {config!r}")


def raw_policy(raw: str | Raw) -> Raw:
    """Raw policy from its name (``"never"``, ``"auto"``, ``"always"``) or from a ``Raw``.

    Raises
    ------
    ValueError
        When the policy is unknown.
    """
    names = {policy.name.lower(): policy for policy in Raw}
    if isinstance(raw, str) and raw in names:
        return names[raw]
    if not isinstance(raw, str) and raw in set(Raw):
        return Raw(raw)
    raise ValueError(f"Raw policy must be one of {', '.join(names)}, not {raw!r}")


def memory_sizes(nbytes: int, config: EngineConfig) -> np.ndarray:
    """Bytes in memory of each stripe of ``nbytes`` bytes, int64 of shape (stripes,)."""
    sizes = np.full(config.stripes(nbytes), config.stripe_bytes, np.int64)
    if len(sizes):
        sizes[-1] = nbytes - (len(sizes) - 1) * config.stripe_bytes
    return sizes


def check_entries(entries: int, nbytes: int, config: EngineConfig) -> None:
    """Raise ValueError unless an index with so many entries is one of ``nbytes`` bytes.

    To be called before a caller's number of bytes sizes an array.
    """
    expected = config.stripes(nbytes)
    if entries != expected:
        raise ValueError(f"Index must have {expected} entries, not {entries}")


def coded(words: np.ndarray, config: EngineConfig) -> tuple[np.ndarray, np.ndarray]:
    """The streams of all stripes, and the bytes of each.

    Each stripe is one packet of the codec.

    Returns
    -------
    stream : ndarray of uint8
        Each stripe's stream fills whole words; zero bytes fill up the last.
    sizes : ndarray of int64, shape (stripes,)
        Bytes without those that fill up.
    """
    compress = codec_of(config.format).compress
    if not config.is_plus:  # then the streams of all stripes are that of the whole tensor
        return compress(words, config.format), _zvc_sizes(words, config)
    step = config.stripe_words
    parts = [compress(words[at : at + step], config.format) for at in range(0, len(words), step)]
    sizes = np.array([len(part) for part in parts], np.int64)
    ends = np.cumsum(config.padded(sizes))
    stream = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for part, end, size in zip(parts, ends, config.padded(sizes), strict=True):
        stream[end - size : end - size + len(part)] = part
    return stream, sizes


def crcs(stream: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """CRC-32 of each stripe's bytes in a stream, uint32 of shape (stripes,)."""
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    found = [zlib.crc32(stream[start : start + size]) for start, size in pairs]
    return np.array(found, np.uint32)


def _zvc_sizes(words: np.ndarray, config: EngineConfig) -> np.ndarray:
    memory = memory_sizes(words.nbytes, config)
    masks = -(-memory // config.block_bytes) * config.format.mask_bytes
    whole = len(words) // config.stripe_words * config.stripe_words
    nonzeros = np.zeros(len(memory), np.int64)
    kept = words[:whole].reshape(-1, config.stripe_words) != 0
    nonzeros[: len(kept)] = np.count_nonzero(kept, axis=1)
    if len(memory) > len(kept):
        nonzeros[-1] = np.count_nonzero(words[whole:])
    return masks + nonzeros * config.word_bytes


def raw_stripes(coded: np.ndarray, memory: np.ndarray, policy: Raw, distance: int) -> np.ndarray:
    """Whether each stripe is sent uncompressed (raw), bool of shape (stripes,).

    AUTO: stripe k is raw if ``k >= distance`` and the compressed size of stripe ``k - distance``
    exceeds its size in memory.

    Parameters
    ----------
    coded, memory : ndarray of int64, shape (stripes,)
        Bytes after compression, and bytes in memory.
    policy : Raw
    distance : int
        ``config.auto_distance``.
    """
    raw = np.full(len(coded), policy == Raw.ALWAYS)
    if policy == Raw.AUTO:
        raw[distance:] = (coded > memory)[: max(0, len(coded) - distance)]
    return raw


def placement(
    config: EngineConfig, device: int, row_bytes: int, rows: int = 1, pitch: int = 0
) -> np.ndarray:
    """Device address of each stripe, uint64 of shape (stripes,).

    Parameters
    ----------
    config : EngineConfig
    device, row_bytes, rows, pitch : int
        As in the descriptor.
    """
    if not row_bytes:  # however many rows there are
        return np.zeros(0, np.uint64)
    # Modulo 2**64, so a negative pitch is a large one.
    step, first = (np.uint64(value % (1 << 64)) for value in (pitch, device))
    row = first + np.arange(max(rows, 1), dtype=np.uint64) * step
    stripe = np.arange(config.stripes(row_bytes), dtype=np.uint64) * np.uint64(config.stripe_bytes)
    return (row[:, np.newaxis] + stripe).reshape(-1)


def channels_of(config: EngineConfig, addresses: np.ndarray) -> np.ndarray:
    """Channel of each stripe at such addresses, uint64 of shape (stripes,)."""
    return addresses // np.uint64(config.stripe_bytes) % np.uint64(config.channels)
