"""Offload: the stream and index that the engine writes to host memory for a tensor."""

import itertools
from dataclasses import dataclass

import numpy as np

from cdma.engine_codes import Raw, Status
from cdma.engine_config import EngineConfig
from cdma.golden.codecs import codec_of
from cdma.golden.engine import stripes
from cdma.golden.engine.index import pack_index


@dataclass(frozen=True, eq=False)
class Offload:
    """Contents of host memory after an offload, and its completion fields.

    Attributes
    ----------
    stream : ndarray of uint8, shape (bytes written,)
        The stream. With status OVERFLOW, its first ``limit`` bytes.
    index : ndarray of uint8, shape (8 * stripes,)
        The index. After a bus error, only the entries of the stripes before the error.
    status : Status
    bytes : int
        Bytes of the stream. With status OVERFLOW, the required bytes; after a bus error, the bytes
        of the stripes before the error.
    stripe : int
        Stripe of the error; with status OK, the number of stripes.
    where : int
        With status OVERFLOW the limit, else 0. This model does not know addresses of bus errors.
    raw_stripes : int
        Number of raw stripes.
    """

    stream: np.ndarray
    index: np.ndarray
    status: Status
    bytes: int
    stripe: int
    where: int
    raw_stripes: int


def offload(
    array,
    config: EngineConfig,
    raw: str | Raw = "auto",
    limit: int | None = None,
    crc: bool = False,
    fault: tuple[int, Status] | None = None,
) -> Offload:
    """Compress a tensor stripe by stripe, as the engine does.

    Several rows, each of whole stripes, are passed as one array in the order of the rows.

    Parameters
    ----------
    array : array_like
        Numbers of any shape, with the width of the engine's words, read in C order.
    config : EngineConfig
        Size of the engine.
    raw : str or Raw
        Raw policy: ``"never"``, ``"auto"`` or ``"always"``.
    limit : int or None
        Capacity of the host buffer in bytes, whole words; ``None`` is unlimited.
    crc : bool
        Whether the index has CRCs.
    fault : (int, Status) or None
        A bus error: the lowest stripe with an error, and its status.

    Returns
    -------
    Offload

    Raises
    ------
    TypeError, ValueError
        When an argument has a wrong type or value.
    """
    stripes.check_config(config)
    policy = stripes.raw_policy(raw)
    words = codec_of(config.format).words_of(np.asarray(array), config.format)
    if limit is not None and (limit < 0 or limit % config.word_bytes):
        raise ValueError(f"Limit must be whole words of {config.word_bytes} bytes, not {limit!r}")

    memory = stripes.memory_sizes(words.nbytes, config)
    stream, coded = stripes.coded(words, config)
    is_raw = stripes.raw_stripes(coded, memory, policy, config.auto_distance)
    if fault is not None:
        stop = _check_fault(fault, len(memory))
        memory, coded, is_raw = memory[:stop], coded[:stop], is_raw[:stop]
        words = words[: stop * config.stripe_words]
    sizes = np.where(is_raw, memory, coded)
    ends = np.cumsum(config.padded(sizes))
    total = int(ends[-1]) if len(ends) else 0
    stream = _with_raw(words, stream, config, is_raw, coded)
    starts = ends - config.padded(sizes)
    index = pack_index(sizes, is_raw, stripes.crcs(stream, starts, sizes) if crc else None)
    status, stripe, where = Status.OK, len(sizes), 0
    if fault is not None:
        stripe, status = fault
    if limit is not None and total > limit:
        status, where = Status.OVERFLOW, limit
        stripe = int(np.argmax(ends > limit))
        stream = stream[:limit]
    return Offload(stream, index, status, total, stripe, where, int(np.count_nonzero(is_raw)))


def copy_out(array, config: EngineConfig, limit: int | None = None) -> Offload:
    """Result of COPY_OUT: the unchanged words, or nothing if they do not fit.

    Parameters, result and errors as for :func:`offload`. There is no index.
    """
    stripes.check_config(config)
    words = codec_of(config.format).words_of(np.asarray(array), config.format)
    data = words.view(np.uint8)
    none = np.zeros(0, np.uint8)
    if limit is not None and limit < len(data):
        return Offload(none, none, Status.OVERFLOW, len(data), 0, limit, 0)
    count = config.stripes(len(data))
    return Offload(data, none, Status.OK, len(data), count, 0, 0)


def _check_fault(fault: tuple[int, Status], count: int) -> int:
    stripe, status = fault
    if not 0 <= stripe < count:
        raise ValueError(f"Fault must be in one of {count} stripes, not in {stripe!r}")
    if not Status.DEVICE_SLVERR <= status <= Status.TIMEOUT:
        raise ValueError(f"Fault must be a bus error, not {status!r}")
    return stripe


def _with_raw(
    words: np.ndarray,
    stream: np.ndarray,
    config: EngineConfig,
    is_raw: np.ndarray,
    coded: np.ndarray,
) -> np.ndarray:
    """The streams of the stripes of ``is_raw``, of which some are raw."""
    starts = np.append(0, np.cumsum(config.padded(coded)))
    if not is_raw.any():
        return stream[: starts[-1]]
    data = words.view(np.uint8)
    parts = []
    changes = np.flatnonzero(np.diff(is_raw)) + 1
    bounds = [0, *changes.tolist(), len(is_raw)]
    for first, last in itertools.pairwise(bounds):
        if is_raw[first]:
            parts.append(data[first * config.stripe_bytes : last * config.stripe_bytes])
        else:
            parts.append(stream[starts[first] : starts[last]])
    return np.concatenate(parts)
