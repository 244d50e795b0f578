"""ZVC+ of whole arrays (``docs/zvcplus.md``), in batches of blocks that fit the cache."""

import numpy as np

from cdma.golden.zvc.words import check_count, format_for, to_bytes, to_words
from cdma.golden.zvcplus import masks
from cdma.golden.zvcplus.bits import BitReader
from cdma.golden.zvcplus.diagnose import Diagnosis, left_over
from cdma.golden.zvcplus.emit import emit_controls, emit_payloads
from cdma.golden.zvcplus.errors import StreamError
from cdma.golden.zvcplus.parse import (
    Controls,
    is_too_long,
    payload_bits,
    read_controls,
    read_payloads,
)
from cdma.golden.zvcplus.plan import ALL_ZERO, RAW, Plan, plan_blocks
from cdma.golden.zvcplus.repeats import Repeats, fill_repeats
from cdma.golden.zvcplus.walk import PADDING, walk
from cdma.zvcplus import Format

_BATCH_BLOCKS = 1024


def compress(array, fmt: Format) -> np.ndarray:
    """Compress an array.

    Parameters
    ----------
    array : array_like
        Numbers of any shape, memory order and byte order, with elements as wide as a word. They
        are taken in C order, as little-endian bit patterns.
    fmt : Format
        Format of the stream.

    Returns
    -------
    ndarray of uint8, shape (bytes,)
        The stream; empty for an empty array.

    Raises
    ------
    TypeError
        When the elements are not numbers, or ``fmt`` is not a ZVC+ format.
    ValueError
        When an element is not as wide as a word.
    """
    return compress_bits(array, fmt)[0]


def compress_bits(array, fmt: Format) -> tuple[np.ndarray, int]:
    """As ``compress``; also the bits of the stream before its last byte is filled up."""
    words = words_of(array, fmt)
    blocks = fmt.blocks(len(words))
    out = np.zeros(fmt.most_bytes(len(words)) // 4 + 3, "<u4")
    place = base = pending = 0  # bits so far but the last payload, base, bits of that payload
    held = None  # blocks whose payloads wait for the place of the next control

    def emit_held(following: int) -> None:
        plan, starts = held
        ends = np.append(starts[1:] + plan.control[1:], following)
        emit_payloads(out, ends, plan, fmt)

    for first in range(0, blocks, _BATCH_BLOCKS):
        plan = plan_blocks(words, first, min(first + _BATCH_BLOCKS, blocks), fmt, base)
        base = int(plan.base[-1])
        steps = plan.control + np.append(pending, plan.payload[:-1])
        ends = np.cumsum(steps) + place
        # The payload of the block before last ends where a control starts.
        starts = ends - plan.control - np.append(pending, plan.payload[:-1])
        emit_controls(out, starts, plan, fmt)
        if held:
            emit_held(int(starts[0] + plan.control[0]))
        held = plan, starts
        place, pending = int(ends[-1]), int(plan.payload[-1])
    if held:
        emit_held(place)
    bits = place + pending
    return out.view(np.uint8)[: -(-bits // 8)].copy(), bits


def decompress(stream, count: int, fmt: Format) -> np.ndarray:
    """Decompress a stream, accepting only what ``compress`` can have written.

    Parameters
    ----------
    stream : bytes-like or ndarray of uint8, shape (bytes,)
        The whole stream.
    count : int
        Words that it holds.
    fmt : Format
        Its format.

    Returns
    -------
    ndarray of ``fmt.dtype``, shape (count,)

    Raises
    ------
    StreamError
        At the first error, with its bit offset.
    TypeError, ValueError
        When an argument is not what it must be.
    """
    words, error = decode(stream, count, fmt)
    if error:
        raise error
    return words


def decode(stream, count: int, fmt: Format) -> tuple[np.ndarray, StreamError | None]:
    """As ``decompress``; gives the error, and the words of all blocks before it."""
    check_format(fmt)
    count = check_count(count)
    data = to_bytes(stream)
    total = 8 * len(data)
    blocks = fmt.blocks(count)
    data = np.concatenate([data, np.zeros(PADDING, np.uint8)])
    controls, payloads = walk(data, total, blocks, fmt)
    # A forged count must not size the memory: each block has two bits at least.
    out = np.zeros(min(count, len(controls) * fmt.block_words), fmt.dtype)
    base = end = 0
    for first in range(0, len(controls), _BATCH_BLOCKS):
        batch = slice(first, min(first + _BATCH_BLOCKS, len(controls)))
        places = controls[batch], payloads[batch]
        read, wrong, end = _decode_batch(data, total, count, places, first, base, out, fmt)
        if wrong.any():
            bad = int(np.argmax(wrong))
            at = first + bad
            before = int(read.base[bad - 1]) if bad else base
            following = int(controls[at + 1]) if at + 1 < len(controls) else total
            places = int(controls[at]), int(payloads[at]), following
            diagnosis = Diagnosis(data, total, count, fmt)
            words = out[: at * fmt.block_words]
            return words, diagnosis.error(at, places, before, words)
        base = int(read.base[-1])
    return out, left_over(data, total, end, count)


def _decode_batch(
    data: np.ndarray,
    total: int,
    count: int,
    places: tuple[np.ndarray, np.ndarray],
    first: int,
    base: int,
    out: np.ndarray,
    fmt: Format,
) -> tuple[Controls, np.ndarray, int]:
    """Decode consecutive blocks into ``out``.

    Returns
    -------
    controls : Controls
    wrong : ndarray of bool, shape (blocks,)
        Whether a block has an error. From the first such block on, nothing means anything.
    end : int
        Bit offset of the end of the last payload.
    """
    control_at, payload_at = places
    reader = BitReader(data, int(control_at[0]), min(int(payload_at[-1]) + 1024, total))
    read = read_controls(reader, control_at, fmt, base)
    payload = payload_bits(read, fmt)
    wrong = read.wrong | is_too_long(read, payload)
    wrong |= (control_at + read.bits > total) | (payload_at + payload > total)
    if wrong.any():  # what lies behind may have any length: it is not looked at
        read = read.first(int(np.argmax(wrong)) + 1)
    words, repeats, bad = read_payloads(reader, payload_at[: len(read.kind)], read, fmt)
    wrong[: len(bad)] |= bad
    start = first * fmt.block_words
    inside = len(out) - start
    if inside < words.size:  # the last block is partial
        marked = masks.unpack(read.lanes, fmt.block_words).reshape(-1)[inside:]
        wrong[len(bad) - 1] |= marked.any() or words.reshape(-1)[inside:].any()
    fill_repeats(out, start, words, repeats, fmt)
    plan = plan_blocks(out, first, first + len(read.kind), fmt, base)
    wrong[: len(bad)] |= _differs(plan, read, repeats)
    return read, wrong, int(payload_at[-1] + payload[-1])


def _differs(plan: Plan, read: Controls, repeats: Repeats) -> np.ndarray:
    """Whether the encoder would have coded a block in another way."""
    differs = plan.kind != read.kind
    differs |= (plan.lanes != read.lanes).any(axis=1) & (read.kind != RAW)
    coded = (read.kind != ALL_ZERO) & (read.kind != RAW)
    other = (plan.wide != read.wide) | (plan.repeats.used != read.used)
    other |= (plan.d != read.d) | (plan.k != read.k) | (plan.half != read.half)
    other |= (plan.base != read.base) | (plan.widths != read.widths).any(axis=1)
    if repeats.used.any():
        other |= (plan.repeats.repeated != repeats.repeated).any(axis=1)
        other |= (plan.repeats.above != repeats.above).any(axis=1)
    return differs | coded & other


def check_format(fmt: Format) -> None:
    """Raise TypeError unless ``fmt`` is a ZVC+ format."""
    if not isinstance(fmt, Format):
        raise TypeError(f"Format must be a zvcplus.Format, not {fmt!r}")


def words_of(array, fmt: Format) -> np.ndarray:
    """Words of an array, as ``compress`` takes them; raises what it raises."""
    check_format(fmt)
    array = np.asarray(array)
    format_for(array.dtype)
    if array.dtype.itemsize != fmt.word_bytes:
        raise ValueError(
            f"Element size must be {fmt.word_bytes} bytes to be a word of {fmt.type}, "
            f"not {array.dtype.itemsize} ({str(array.dtype)!r})"
        )
    return to_words(array)
