"""Zero-value compression of whole arrays (``docs/format.md``).

Works in batches of blocks that fit the cache. Beyond input and output, memory is constant.
"""

import numpy as np

from cdma.format import ErrorCode, Format
from cdma.golden.errors import StreamError
from cdma.golden.zvc import mask, stages, tail
from cdma.golden.zvc.walk import block_starts, gather_masks
from cdma.golden.zvc.words import (
    check_count,
    check_format,
    format_for,
    to_bytes,
    to_words,
    whole_words,
)

_BATCH_BYTES = 1 << 19
_ZERO_WORD = "zero word sent as non-zero"


def compress(array, fmt: Format | None = None) -> np.ndarray:
    """Compress an array.

    Lossless on bits, but for the sign of zeros with ``fmt.fold_negative_zero``.

    Parameters
    ----------
    array : array_like
        Numbers of any shape, memory order and byte order, with elements as wide as a word. They
        are taken in C order, as little-endian bit patterns. Floating point with
        ``fmt.fold_negative_zero``: take a view of bare words, such as ``words.view(np.float16)``.
    fmt : Format or None
        Format of the stream; ``None`` gives the default for the size of an element.

    Returns
    -------
    ndarray of uint8, shape (bytes,)
        The stream; empty for an empty array.

    Raises
    ------
    TypeError
        When the elements are not numbers, or not floating point with ``fmt.fold_negative_zero``,
        or ``fmt`` is not a Format.
    ValueError
        When an element is not 1, 2, 4 or 8 bytes, or not a word of ``fmt``.
    """
    array = np.asarray(array)
    fmt = format_for(array.dtype, fmt)
    return compress_words(to_words(array), fmt)


def compress_words(words: np.ndarray, fmt: Format) -> np.ndarray:
    """Stream of bare words, uint8: unsigned words of ``fmt``, whatever their type is."""
    size = fmt.stream_bytes(len(words), stages.count_nonzeros(words, fmt))
    stream = np.empty(size // fmt.word_bytes, fmt.dtype)
    batch = batch_blocks(fmt) * fmt.block_words
    whole = len(words) // fmt.block_words * fmt.block_words
    written = 0
    for first in range(0, whole, batch):
        part = words[first : min(first + batch, whole)]
        written += _compress_blocks(part.reshape(-1, fmt.block_words), fmt, stream[written:])
    if whole < len(words):  # the last block is masked as if filled up with zero words
        _compress_partial(words[whole:], fmt, stream[written:])
    return stream.view(np.uint8)


def decompress(stream, count: int | None, fmt: Format) -> np.ndarray:
    """Decompress a stream, accepting only what ``compress`` can have written.

    Parameters
    ----------
    stream : bytes-like or ndarray of uint8, shape (bytes,)
        The whole stream.
    count : int or None
        Words that it holds; ``None`` finds their number in a stream whose tail is ``"ones"``.
    fmt : Format
        Its format.

    Returns
    -------
    ndarray of ``fmt.dtype``, shape (count,)

    Raises
    ------
    StreamError
        At the first error in stream order: ``TRUNCATED``, ``TRAILING``, ``MASK_PAST_END`` or
        ``ZERO_WORD``, with its byte offset.
    TypeError, ValueError
        When an argument is not what it must be.
    """
    words, error = decode(stream, count, fmt)
    if error:
        raise error
    return words


def salvage(stream, count: int | None, fmt: Format) -> tuple[np.ndarray, int, ErrorCode]:
    """Decompress a possibly malformed stream exactly as the hardware does.

    The hardware for a tail of ``"ones"`` has no command: pass ``None`` as the count.

    Parameters
    ----------
    stream, count, fmt
        As for ``decompress``; any bytes are accepted.

    Returns
    -------
    words : ndarray of ``fmt.dtype``, shape (count,)
        Words that arrived whole; all others, and those of a mask that is not whole, have the zero
        value of ``fmt``.
        Without a count: the words in front of the first mask bit that has no word.
    consumed : int
        Bytes decoded without error: the length of a valid stream, else the offset of the error.
    code : ErrorCode
        ``NONE``, ``TRUNCATED``, ``TRAILING`` or ``MASK_PAST_END``; zero words are not looked for.

    Raises
    ------
    TypeError, ValueError
        When an argument is not what it must be.
    """
    words, error = decode(stream, count, fmt, canonical=False)
    if count is not None and len(words) < count:
        missing = np.full(count - len(words), fmt.zero_value, fmt.dtype)
        words = np.concatenate([words, missing])
    if error:
        return words, error.offset, error.code
    return words, len(to_bytes(stream)), ErrorCode.NONE


def decode(
    stream, count: int | None, fmt: Format, *, canonical: bool = True, base: int = 0
) -> tuple[np.ndarray, StreamError | None]:
    """What ``decompress`` and ``salvage`` share.

    Parameters
    ----------
    stream, count, fmt
        As for ``decompress``.
    canonical : bool
        Whether a zero word sent as non-zero is an error.
    base : int
        Byte offset that the stream's first byte is reported as.

    Returns
    -------
    words : ndarray, shape (count,), or fewer when the stream has no masks for so many
    error : StreamError or None
        The first error; everything before its offset is decoded.
    """
    check_format(fmt)
    data = to_bytes(stream)
    if count is None and fmt.ends_itself:
        extent = tail.extent(data, fmt)
        good = data[: extent.end]
        out, error = _decode(good, extent.words, fmt, canonical, base, extent.reason is not None)
        if error is None and extent.reason:
            error = StreamError(extent.reason, base + extent.offset, ErrorCode.TRUNCATED)
        return out, error
    return _decode(data, check_count(count), fmt, canonical, base, is_cut=False)


def _decode(data, count, fmt, canonical, base, is_cut):
    """Decode ``count`` words; of a stream that ``is_cut`` the tail of the last mask is not checked,
    nor is a zero word sent as non-zero found in its block, whose mask comes before."""
    words = whole_words(data, fmt)
    # A forged count must not size the memory: each block has at least its mask in the stream.
    room = len(words) // fmt.mask_words * fmt.block_words
    out = np.full(min(count, room), fmt.zero_value, fmt.dtype)
    at = done = 0  # words of the stream taken, words given

    def error(code: ErrorCode, word: int, reason: str) -> StreamError:
        return StreamError(reason, base + word * fmt.word_bytes, code)

    for starts in block_starts(words, count // fmt.block_words, fmt):
        if starts[-1] > len(words):
            starts = starts[:-1]
        given = (len(starts) - 1) * fmt.block_words
        zero = expand_blocks(words, starts, fmt, out[done : done + given])
        if canonical and zero is not None:
            return out, error(ErrorCode.ZERO_WORD, zero, _ZERO_WORD)
        at = int(starts[-1])
        done += given

    if done < count:  # of a good stream, the last block if it is partial
        ends = f"the stream ends at byte {base + len(data)}"
        first = at + fmt.mask_words
        if first > len(words):
            reason = f"mask of {fmt.mask_bytes} bytes expected, {ends}"
            return out, error(ErrorCode.TRUNCATED, at, reason)
        bytes_ = words[at:first].view(np.uint8)
        room = min(count - done, fmt.block_words)
        bits = mask.bits_before(bytes_, room)
        marked = int(np.count_nonzero(bits))
        payload = words[first : first + marked]
        given = bits if len(payload) == marked else bits[: mask.nth_one(bytes_, len(payload))]
        out[done : done + len(given)][given] = payload
        if fmt.ends_itself:
            missing = None if is_cut else mask.first_zero(bytes_, room)
            if missing is not None:
                reason = f"mask does not mark word {done + missing}, past the end of {count} words"
                return out, error(ErrorCode.MASK_PAST_END, at, reason)
        elif (last := mask.last_one(bytes_)) is not None and last >= room:
            reason = f"mask marks word {done + last} of {count}, counted from 0"
            return out, error(ErrorCode.MASK_PAST_END, at, reason)
        if len(payload) < marked:
            needed = base + (first + marked) * fmt.word_bytes
            reason = f"mask marks words that reach to byte {needed}, {ends}"
            return out, error(ErrorCode.TRUNCATED, at, reason)
        kept = stages.nonzero_bits(payload, fmt)
        if canonical and not is_cut and not kept.all():
            return out, error(ErrorCode.ZERO_WORD, first + int(np.argmin(kept)), _ZERO_WORD)
        at = first + len(payload)

    extra = len(data) - at * fmt.word_bytes
    if extra:
        reason = f"stream of {count} words ends here, {extra} more bytes follow"
        return out, error(ErrorCode.TRAILING, at, reason)
    return out, None


def expand_blocks(
    words: np.ndarray, starts: np.ndarray, fmt: Format, out: np.ndarray
) -> int | None:
    """Expand consecutive whole blocks.

    Parameters
    ----------
    words : ndarray of words
        The stream.
    starts : ndarray of int64, shape (blocks + 1,)
        Word offsets of the blocks, and of their end.
    out : ndarray of words, shape (blocks * block_words,)
        Receives the words.

    Returns
    -------
    int or None
        Word offset of the first zero word that was sent as non-zero.
    """
    blocks = len(starts) - 1
    out = out.reshape(blocks, fmt.block_words)
    batch = batch_blocks(fmt)
    first_zero = None
    for first in range(0, blocks, batch):
        last = min(first + batch, blocks)
        part = words[starts[first] : starts[last]]
        masks = gather_masks(words, starts[first:last], fmt)
        bits = stages.unpack_masks(masks, fmt)
        out[first:last] = stages.expand(part, bits, fmt)
        payload = len(part) - masks.size
        if first_zero is None and _has_zero(part, masks, payload, bits, out[first:last], fmt):
            zeros = np.argwhere(bits & ~stages.nonzero_bits(out[first:last], fmt))
            block, word = zeros[0]
            before = np.count_nonzero(bits[block, :word])
            first_zero = int(starts[first + block]) + fmt.mask_words + before
    return first_zero


def _has_zero(part, masks, payload, bits, blocks, fmt) -> bool:
    """Whether the payload has a word that should be omitted."""
    if fmt.is_plain:  # the payload lies between the masks: counting all is the fastest
        return np.count_nonzero(part) < np.count_nonzero(masks) + payload
    return bool((bits & ~stages.nonzero_bits(blocks, fmt)).any())


def batch_blocks(fmt: Format) -> int:
    """Blocks to work on at a time."""
    return max(1, _BATCH_BYTES // (fmt.block_words * fmt.word_bytes))


def _compress_blocks(blocks: np.ndarray, fmt: Format, out: np.ndarray) -> int:
    """Append whole blocks to the stream."""
    bits = stages.nonzero_bits(blocks, fmt)
    return stages.compact(blocks, bits, stages.pack_masks(bits, fmt), out)


def _compress_partial(words: np.ndarray, fmt: Format, out: np.ndarray) -> None:
    """Append a partial block to the stream.

    Only the mask has the length of a block: blocks of 2**32 words may hold few words.
    """
    bits = stages.nonzero_bits(words, fmt)
    bytes_ = out[: fmt.mask_words].view(np.uint8)
    packed = np.packbits(bits, bitorder="little")
    bytes_[: len(packed)] = packed
    bytes_[len(packed) :] = 0xFF if fmt.ends_itself else 0
    if fmt.ends_itself and len(words) % 8:
        bytes_[len(packed) - 1] |= 0xFF << len(words) % 8 & 0xFF
    payload = words[bits]
    out[fmt.mask_words : fmt.mask_words + len(payload)] = payload
