"""Controls and payloads of planned blocks as bits."""

import numpy as np

from cdma.golden.zvcplus import masks
from cdma.golden.zvcplus.bits import put_fields
from cdma.golden.zvcplus.plan import (
    AS_IS,
    DENSE,
    DIFFERENCES,
    RAW,
    RAW_MASK,
    SENT,
    Plan,
)
from cdma.zvcplus import Format

# Mode and ext, mode in the low bits, by wide words or not and by kind.
_EXT = np.array([[0, 0, 0, 1, 2, 0], [0, 4, 7, 5, 6, 0]])
_MODES = np.array([[0, 1, 2, 3, 3, 3], [0, 3, 3, 3, 3, 3]]) | _EXT << 2
_MODE_BITS = np.array([[2, 2, 2, 5, 5, 5], [2, 5, 5, 5, 5, 5]])


def emit_controls(out: np.ndarray, places: np.ndarray, plan: Plan, fmt: Format) -> None:
    """Write the controls of planned blocks.

    Parameters
    ----------
    out : ndarray of uint32
        Zeros where the controls go.
    places : ndarray of int64, shape (blocks,)
        Bit offsets of the controls.
    plan : Plan
    fmt : Format
    """
    word, kind = fmt.word, plan.kind
    has_fields = (kind >= DIFFERENCES) & (kind <= DENSE)
    wide = plan.wide.astype(np.int64)
    head, head_bits = _MODES[wide, kind], _MODE_BITS[wide, kind]

    def append(value, bits: int) -> None:
        nonlocal head, head_bits
        head = head | np.where(has_fields, value << head_bits, 0)
        head_bits = head_bits + bits * has_fields

    if fmt.repeat_number:
        append(plan.repeats.used.astype(np.int64), 1)
    if word.is_float:
        append(plan.d, 3)
        append(plan.k, 3)
    else:
        append(plan.half.astype(np.int64), 1)
    fields = [(head, head_bits)]
    if not word.is_float:
        fields.append(_group_widths(plan, has_fields))

    coded = np.where(
        (kind == DIFFERENCES)[:, np.newaxis], masks.differences(plan.lanes), plan.lanes
    )
    nibbles = masks.nibbles(coded, word.flags)
    has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
    sent = (nibbles != 0) & has_flags[:, np.newaxis]
    flags = np.packbits(sent, axis=1, bitorder="little").astype(np.int64)
    flags = (flags << 8 * np.arange(flags.shape[1])).sum(axis=1)
    sent |= (kind == RAW_MASK)[:, np.newaxis]
    fields.append((flags, word.flags * has_flags))
    if word.is_float:
        is_sent = has_fields & (plan.d == SENT)
        fields.append((plan.base * is_sent, word.exponent * is_sent))
    used = plan.repeats.used
    last = plan.repeats.count - 1 if word.is_float else plan.payload
    fields.append((last * used, word.count_bits * used))

    count = len(fields) + word.flags
    values = np.empty((len(kind), count), np.uint64)
    bits = np.empty((len(kind), count), np.int64)
    for column, (value, width) in enumerate(fields):
        column = count - 1 if column == len(fields) - 1 else column
        values[:, column], bits[:, column] = value, width
    inner = slice(len(fields) - 1, count - 1)
    values[:, inner] = nibbles * sent
    bits[:, inner] = sent * np.int64(4)
    starts = np.cumsum(bits, axis=1)
    starts += places[:, np.newaxis] - bits
    put_fields(out, starts.reshape(-1), values.reshape(-1))


def emit_payloads(out: np.ndarray, places: np.ndarray, plan: Plan, fmt: Format) -> None:
    """Write the payloads of planned blocks; parameters as of ``emit_controls``."""
    size = fmt.block_words
    nonzero = plan.words != 0
    sent = nonzero
    repeats = plan.repeats
    if repeats.used.any():
        marked = np.flatnonzero(nonzero & repeats.used[:, np.newaxis])
        _put_each(out, marked, repeats.repeated, places, repeats.used * plan.nonzeros, size)
        places = places + repeats.used * plan.nonzeros
        if repeats.says_above:
            marked = np.flatnonzero(repeats.repeated)
            _put_each(out, marked, repeats.above, places, repeats.count, size)
            places = places + repeats.count
        sent = nonzero & ~repeats.repeated
    is_raw = plan.kind == RAW
    if is_raw.any():
        sent = sent | is_raw[:, np.newaxis]
    chosen = np.flatnonzero(sent)
    block = chosen // size
    totals = plan.payload - repeats.bits(plan.nonzeros)
    shift = places - (np.cumsum(totals) - totals)
    if fmt.word.is_float:
        widths = plan.widths[:, 0].take(block).astype(np.int64)
    else:
        widths = plan.widths.reshape(-1).take(chosen >> 4).astype(np.int64)
    starts = np.cumsum(widths)
    starts -= widths
    starts += shift.take(block)
    words = plan.words.reshape(-1).take(chosen)
    put_fields(out, starts, _payload_values(words, block, widths, plan, is_raw, fmt))


def _payload_values(words, block, widths, plan: Plan, is_raw, fmt: Format) -> np.ndarray:
    """What is sent of each word."""
    word = fmt.word
    if not word.is_float:
        return words - (~is_raw).astype(np.uint8).take(block)
    words = words.astype(np.uint32)
    exponents = (words >> np.uint32(word.mantissa)) & np.uint32((1 << word.exponent) - 1)
    as_is = is_raw | (plan.k == SENT)
    # base - exponent is (exponent ^ all ones) + base + 1
    flip = np.where(as_is, 0, 0xFFFFFFFF).astype(np.uint32)
    add = np.where(as_is, 0, plan.base + 1).astype(np.uint32)
    exponents ^= flip.take(block)
    exponents += add.take(block)
    exponents <<= np.uint32(word.mantissa)
    values = (words & np.uint32((1 << word.mantissa) - 1)) | exponents
    signed = plan.wide | is_raw
    if signed.any():
        at = np.maximum(widths - 1, 0).astype(np.uint32)
        values |= (words >> np.uint32(word.bits - 1)) << at
    return values


def _group_widths(plan: Plan, has_fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Widths of int8 as one field."""
    fields = plan.widths.astype(np.int64) - plan.wide[:, np.newaxis]
    by_16 = (fields << 3 * np.arange(8)).sum(axis=1)
    by_32 = (fields[:, 0::2] << 3 * np.arange(4)).sum(axis=1)
    value = np.where(plan.half, by_16, by_32)
    return value * has_fields, np.where(plan.half, 24, 12) * has_fields


def _put_each(out, marked, values, places, totals, size: int) -> None:
    """Write one bit for each marked word, from its block's place on."""
    shift = places - (np.cumsum(totals) - totals)
    starts = np.arange(len(marked)) + shift.take(marked // size)
    put_fields(out, starts, values.reshape(-1).take(marked))
