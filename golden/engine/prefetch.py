"""Prefetch: the words that the engine writes to device memory for a stream and its index."""

import itertools
import zlib
from dataclasses import dataclass

import numpy as np

from cdma import format as zvc_format
from cdma import zvcplus
from cdma.engine_codes import STREAM_ERRORS, Status
from cdma.engine_config import EngineConfig
from cdma.golden.codecs import codec_of
from cdma.golden.engine import stripes
from cdma.golden.engine.index import Index, possible, unpack_index
from cdma.golden.errors import StreamError
from cdma.golden.zvc import codec
from cdma.golden.zvc.walk import lockstep_starts
from cdma.golden.zvc.words import check_count, to_bytes, whole_words

_REASONS = {
    Status.TRUNCATED: "the stripe's stream ends inside a block",
    Status.TRAILING: "bytes after the end of the stripe's stream",
    Status.MASK_PAST_END: "mask bit past the end of the stripe",
    Status.RESERVED: "a block has a reserved code",
    Status.TOO_LONG: "a block is longer than the format allows",
    Status.INDEX: "the index does not fit the stream",
    Status.CRC: "the CRC of the stripe does not match",
}


class StripeError(StreamError):
    """A stream or index that the engine rejects.

    Attributes
    ----------
    reason : str
        Description of the error.
    offset : int
        Byte offset in the whole stream.
    code : ErrorCode or Status
        ``ErrorCode`` of the codec for the stripe's stream, ``Status.INDEX`` or ``Status.CRC``.
    stripe : int
        Stripe of the error; the number of stripes if the index ends before the stream.
    """

    def __init__(self, reason: str, offset: int, code, stripe: int):
        super().__init__(reason, offset, code)
        self.args = (reason, offset, code, stripe)
        self.stripe = stripe

    def __str__(self):
        return f"Stripe {self.stripe}, byte {self.offset}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Prefetch:
    """Contents of device memory after a prefetch, and its completion fields.

    Attributes
    ----------
    words : ndarray of words, shape (count,)
        The tensor. Words that the engine does not write are zero here.
    written : int
        Number of words written, from the start of the tensor.
    status : Status
    bytes : int
        Bytes of the stream. On an error, the bytes before its stripe.
    stripe : int
        Stripe of the error; with status OK, the number of stripes.
    where : int
        Offset of the error in the stream, else 0.
    raw_stripes : int
        Number of raw stripes.
    open_words : tuple of slice
        Words written that may have any value, in stripes with an error; they are zero here.
    """

    words: np.ndarray
    written: int
    status: Status
    bytes: int
    stripe: int
    where: int
    raw_stripes: int
    open_words: tuple[slice, ...] = ()


def prefetch(
    stream, index, count: int, config: EngineConfig, crc: bool = True, salvage: bool = False
) -> np.ndarray | tuple[np.ndarray, Status]:
    """Decompress a stream with its index, as the engine does.

    Parameters
    ----------
    stream : bytes-like or ndarray of uint8
        The whole stream.
    index : bytes-like or ndarray of uint8
        An entry of 8 bytes for each stripe.
    count : int
        Words of the tensor.
    config : EngineConfig
        Size of the engine.
    crc : bool
        Whether to check the CRC of stripes whose entry has one.
    salvage : bool
        Return words and status instead of raising an error.

    Returns
    -------
    ndarray of words, shape (count,)
        With ``salvage``: the words and a ``Status``. :func:`salvage_stripes` returns more details.

    Raises
    ------
    StripeError
        At the lowest stripe with an error. It is a ``StreamError`` with ``stripe`` and ``offset``.
    TypeError, ValueError
        When an argument has a wrong type or value.
    """
    result = salvage_stripes(stream, index, count, config, crc=crc)
    if salvage:
        return result.words, result.status
    if result.status != Status.OK:
        code = result.status
        if code in STREAM_ERRORS:
            code = (zvcplus if config.is_plus else zvc_format).ErrorCode(code)
        raise StripeError(_REASONS[result.status], result.where, code, result.stripe)
    return result.words


def salvage_stripes(
    stream,
    index,
    count: int,
    config: EngineConfig,
    crc: bool = True,
    limit: int | None = None,
    fault: tuple[int, Status] | None = None,
) -> Prefetch:
    """Decompress a stream and report the first error, exactly as the hardware does.

    Parameters
    ----------
    stream, index, count, config, crc
        As for :func:`prefetch`.
    limit : int or None
        Bytes of the stream in the descriptor; ``None`` is the size of ``stream``.
    fault : (int, Status) or None
        A bus error: the lowest stripe with an error, and its status.

    Returns
    -------
    Prefetch

    Raises
    ------
    TypeError, ValueError
        When an argument has a wrong type or value.
    """
    stripes.check_config(config)
    count = check_count(count)
    data = to_bytes(stream)
    limit = len(data) if limit is None else limit
    if limit > len(data):
        raise ValueError(f"Stream must have {limit} bytes, not {len(data)}")
    data = data[:limit]
    entries = unpack_index(index)
    stripes.check_entries(len(entries), count * config.word_bytes, config)
    memory = stripes.memory_sizes(count * config.word_bytes, config)

    sizes = config.padded(entries.sizes)
    ends = np.cumsum(sizes)
    stop, errors = _index_errors(entries, ends, memory, limit, config)
    if fault is not None and fault[0] < stop:
        stop = fault[0]
        errors = [(stop, fault[1], 0)]
    starts = ends - sizes
    words, open_words = np.zeros(count, config.format.dtype), []
    if count:  # the engine reads nothing for a descriptor without bytes
        errors += _decode_stripes(data, entries, starts, stop, words, open_words, config)
        if crc:
            errors += _crc_errors(data, entries, starts, stop)
    errors.sort(key=lambda error: (error[0], _ORDER.index(error[1])))
    written = min(stop * config.stripe_words, count)
    raw = int(np.count_nonzero(entries.raw[:stop]))
    if not count or not errors:
        return Prefetch(words, written, Status.OK, limit if count else 0, len(memory), 0, raw)
    stripe, status, where = errors[0]
    before = int(ends[stripe - 1]) if stripe else 0
    return Prefetch(words, written, status, before, stripe, where, raw, tuple(open_words))


#: Priority of several errors in one stripe, highest first.
_ORDER = [
    Status.INDEX,
    Status.HOST_SLVERR,
    Status.HOST_DECERR,
    Status.DEVICE_SLVERR,
    Status.DEVICE_DECERR,
    Status.TIMEOUT,
    Status.CRC,
    *STREAM_ERRORS,
]


def _index_errors(
    entries: Index, ends: np.ndarray, memory: np.ndarray, limit: int, config: EngineConfig
) -> tuple[int, list]:
    """Number of stripes to process, and errors of the index as (stripe, status, offset)."""
    bad = ~possible(entries, memory, config) | (ends > limit)
    if bad.any():
        stop = int(np.argmax(bad))
        return stop, [(stop, Status.INDEX, int(ends[stop - 1]) if stop else 0)]
    total = int(ends[-1]) if len(ends) else 0
    if total < limit:
        return len(memory), [(len(memory), Status.INDEX, total)]
    return len(memory), []


def _decode_stripes(
    data: np.ndarray,
    entries: Index,
    starts: np.ndarray,
    stop: int,
    words: np.ndarray,
    open_words: list,
    config: EngineConfig,
) -> list:
    """Decode the first ``stop`` stripes into ``words``. Errors are (stripe, status, offset).

    Words that may have any value are added to ``open_words``.
    """
    fmt = config.format
    salvage = codec_of(fmt).salvage
    good, block_starts = _follow_whole_stripes(data, entries, starts, stop, words, config)
    source = whole_words(data, fmt)
    errors = []
    for first, last, kind in _runs(entries.raw[:stop], good):
        out = words[first * config.stripe_words : last * config.stripe_words]
        place = first * config.stripe_words
        begin, end = int(starts[first]), int(starts[last - 1] + entries.sizes[last - 1])
        if kind == "raw":
            out[:] = source[begin // fmt.word_bytes : end // fmt.word_bytes]
        elif kind == "good":
            offsets = block_starts[first:last].reshape(-1)
            codec.expand_blocks(source, np.append(offsets, end // fmt.word_bytes), fmt, out)
        else:
            part, offset, code = salvage(data[begin:end], len(out), fmt)
            out[: len(part)] = part
            if len(part) < len(out):
                open_words.append(slice(place + len(part), place + len(out)))
            if code:
                errors.append((first, Status(code), begin + offset))
    return errors


def _follow_whole_stripes(
    data: np.ndarray,
    entries: Index,
    starts: np.ndarray,
    stop: int,
    words: np.ndarray,
    config: EngineConfig,
) -> tuple[np.ndarray, np.ndarray]:
    """Follow the masks of all full compressed stripes in parallel.

    Returns
    -------
    good : ndarray of bool, shape (stop,)
        Full compressed stripes whose masks end exactly at their size.
    block_starts : ndarray of int64, shape (stop, blocks in a stripe)
        Word offsets of their blocks.
    """
    fmt = config.format
    blocks = config.stripe_bytes // config.block_bytes
    good = np.zeros(stop, bool)
    block_starts = np.zeros((stop, blocks), np.int64)
    whole = 0 if config.is_plus else min(stop, len(words) // config.stripe_words)
    followed = np.flatnonzero(~entries.raw[:whole])
    source = whole_words(data, fmt)
    if len(followed) and len(source) >= fmt.mask_words:
        firsts = starts[followed] // fmt.word_bytes
        found, ends = lockstep_starts(source, firsts, blocks, fmt)
        good[followed] = ends == firsts + entries.sizes[followed] // fmt.word_bytes
        block_starts[followed] = found
    return good, block_starts


def _runs(raw: np.ndarray, good: np.ndarray):
    """Yield runs of consecutive stripes: raw or good stripes together, others one by one."""
    kinds = np.where(raw, 1, np.where(good, 2, 0))
    breaks = np.flatnonzero((np.diff(kinds) != 0) | (kinds[1:] == 0)) + 1
    bounds = [0, *breaks.tolist(), len(kinds)] if len(kinds) else []
    names = ("alone", "raw", "good")
    for first, last in itertools.pairwise(bounds):
        yield first, last, names[kinds[first]]


def _crc_errors(data: np.ndarray, entries: Index, starts: np.ndarray, stop: int) -> list:
    """Stripes whose CRC does not match, as (stripe, status, offset)."""
    errors = []
    for stripe in np.flatnonzero(entries.crc_valid[:stop]).tolist():
        begin = int(starts[stripe])
        part = data[begin : begin + int(entries.sizes[stripe])]
        if zlib.crc32(part) != entries.crcs[stripe]:
            errors.append((stripe, Status.CRC, begin))
    return errors
