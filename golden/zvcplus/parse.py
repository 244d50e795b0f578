"""Blocks out of their bits, many at a time; whether they are right is only marked."""

from dataclasses import dataclass, fields

import numpy as np

from cdma.golden.zvcplus import masks
from cdma.golden.zvcplus.bits import BitReader, mask_of
from cdma.golden.zvcplus.plan import AS_IS, DENSE, DIFFERENCES, RAW, RAW_MASK, SENT
from cdma.golden.zvcplus.repeats import Repeats, no_repeats
from cdma.golden.zvcplus.tables import HEADER_BITS, RESERVED, header_columns
from cdma.zvcplus import RAW_BITS, Format


@dataclass
class Controls:
    """Fields of consecutive controls; arrays of shape (blocks,) as in ``Plan``, and:

    Attributes
    ----------
    number : ndarray of int64
        Last field of a control with repeats: repeated words, or for int8 bits of the payload.
    bits : ndarray of int64
        Bits of the control.
    wrong : ndarray of bool
        Whether the control cannot be right, whatever follows.
    """

    kind: np.ndarray
    wide: np.ndarray
    used: np.ndarray
    d: np.ndarray
    k: np.ndarray
    base: np.ndarray
    half: np.ndarray
    widths: np.ndarray
    lanes: np.ndarray
    nonzeros: np.ndarray
    number: np.ndarray
    bits: np.ndarray
    wrong: np.ndarray

    def first(self, count: int) -> "Controls":
        """The first ``count`` controls."""
        return Controls(*(getattr(self, field.name)[:count] for field in fields(self)))


def read_controls(reader: BitReader, places: np.ndarray, fmt: Format, base: int) -> Controls:
    """Read the controls at bit offsets ``places``; ``base`` is the last one coded before."""
    word = fmt.word
    head = reader.windows(places) & np.uint64((1 << HEADER_BITS) - 1)
    columns = header_columns(fmt.type, fmt.repeat_number).take(head.astype(np.int64), axis=1)
    kind, wide, used, first, second, length = columns
    at = places + length
    has_fields = (kind >= DIFFERENCES) & (kind <= DENSE)
    wrong = kind == RESERVED
    zeros = np.zeros(len(kind), np.int64)
    d, k, half = (first, second, zeros) if word.is_float else (zeros, zeros, first)
    if word.is_float:
        widths = word.mantissa + np.where(k == SENT, word.exponent, k) + wide
        widths = np.where(kind == RAW, word.bits, widths)[:, np.newaxis]
    else:
        fields = reader.windows(at)[:, np.newaxis]
        by_16 = (fields >> np.arange(0, 24, 3, np.uint64)) & np.uint64(7)
        by_32 = np.repeat(by_16[:, :4], 2, axis=1)
        widths = np.where(half[:, np.newaxis], by_16, by_32).astype(np.int64)
        widths += wide[:, np.newaxis]
        widths[kind == RAW] = 8
        at += np.where(half, 24, 12) * has_fields

    has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
    flags = reader.windows(at) & mask_of(word.flags * has_flags)
    wrong |= has_flags & (flags == 0)
    at += word.flags * has_flags
    if word.is_float:
        is_sent = has_fields & (d == SENT)
        sent_base = (reader.windows(at) & mask_of(word.exponent)).astype(np.int64)
        base = _follow_bases(d, sent_base, has_fields, is_sent, base)
        wrong |= (base < 0) | (base >> word.exponent > 0)
        at += word.exponent * is_sent
    else:
        base = zeros

    octets = np.ascontiguousarray(flags.astype("<u8")).view(np.uint8).reshape(-1, 8)
    sent = np.unpackbits(octets[:, : word.flags // 8], axis=1, bitorder="little").view(bool)
    sent |= (kind == RAW_MASK)[:, np.newaxis]
    chosen = np.flatnonzero(sent)
    block = chosen // word.flags
    counts = np.bincount(block, minlength=len(kind))
    nibble_at = 4 * np.arange(len(chosen)) + (at - 4 * (np.cumsum(counts) - counts)).take(block)
    values = (reader.windows(nibble_at) & np.uint64(15)).astype(np.uint8)
    empty = (values == 0) & has_flags.take(block)
    wrong[block[empty]] = True
    nibbles = np.zeros(sent.shape, np.uint8)
    nibbles.reshape(-1)[chosen] = values
    lanes = masks.join_nibbles(nibbles)
    undone = masks.undo_differences(lanes, fmt.block_words)
    lanes = np.where((kind == DIFFERENCES)[:, np.newaxis], undone, lanes)
    lanes[kind == DENSE] = np.uint64((1 << min(64, fmt.block_words)) - 1)
    nonzeros = masks.count(lanes)
    wrong |= has_fields & (nonzeros == 0)
    at += 4 * counts
    number = (reader.windows(at) & mask_of(word.count_bits)).astype(np.int64)
    number += word.is_float
    wrong |= (used > 0) & (number > nonzeros) & word.is_float
    at += word.count_bits * used
    return Controls(
        kind, wide > 0, used > 0, d, k, base, half > 0, widths, lanes, nonzeros, number,
        at - places, wrong,
    )  # fmt: skip


def payload_bits(controls: Controls, fmt: Format) -> np.ndarray:
    """Bits of each payload, as its control says."""
    if fmt.word.is_float:
        width = controls.widths[:, 0]
        bits = controls.nonzeros * width
        says_above = fmt.repeats == "above"
        saved = controls.number * (width - says_above) - controls.nonzeros
        bits -= np.where(controls.used, saved, 0)
    else:
        ones = masks.popcount(np.ascontiguousarray(controls.lanes).view("<u2"))
        bits = (ones * controls.widths).sum(axis=1)
        bits = np.where(controls.used, controls.number, bits)
    return np.where(controls.kind == RAW, 1024, bits)


def read_payloads(
    reader: BitReader, places: np.ndarray, controls: Controls, fmt: Format
) -> tuple[np.ndarray, Repeats, np.ndarray]:
    """Read the payloads at bit offsets ``places``.

    Returns
    -------
    words : ndarray of words, shape (blocks, block_words)
        New words in their places; zeros and repeated words are 0.
    repeats : Repeats
    wrong : ndarray of bool, shape (blocks,)
        Whether a new word is zero or out of range, or a count does not match.
    """
    size = fmt.block_words
    nonzero = sent = masks.unpack(controls.lanes, size)
    used, wrong = controls.used, np.zeros(len(places), bool)
    repeats = no_repeats(len(places), size)
    if used.any():
        marked = np.flatnonzero(nonzero & used[:, np.newaxis])
        totals = controls.nonzeros * used
        repeated = _read_each(reader, marked, places, totals, size)
        places = places + totals
        count = masks.count(masks.pack(repeated))
        above = np.zeros_like(repeated)
        says_above = fmt.repeats == "above"
        if says_above:
            above = _read_each(reader, np.flatnonzero(repeated), places, count, size)
            places = places + count
        repeats = Repeats(used, repeated, above, count, says_above)
        sent = nonzero & ~repeated
    is_raw = controls.kind == RAW
    if is_raw.any():
        sent = sent | is_raw[:, np.newaxis]

    chosen = np.flatnonzero(sent)
    block = chosen // size
    if fmt.word.is_float:
        widths = controls.widths[:, 0].take(block)
    else:
        widths = controls.widths.reshape(-1).take(chosen >> 4)
    totals = np.bincount(block, widths, minlength=len(places)).astype(np.int64)
    starts = np.cumsum(widths)
    starts -= widths
    starts += (places - (np.cumsum(totals) - totals)).take(block)
    values = reader.windows(starts)
    values &= mask_of(widths)
    given, outside = _words_of(values, block, widths, controls, is_raw, fmt)
    outside |= (given == 0) & ~is_raw.take(block)
    wrong[block[outside]] = True
    words = np.zeros((len(places), size), fmt.dtype)
    words.reshape(-1)[chosen] = given
    if used.any():
        expected = totals + repeats.bits(controls.nonzeros)
        counted = repeats.count if fmt.word.is_float else expected
        wrong |= used & (counted != controls.number)
    return words, repeats, wrong


def _words_of(values, block, widths, controls: Controls, is_raw, fmt: Format):
    """New words, and which of them have an exponent outside its range."""
    word = fmt.word
    outside = np.zeros(len(values), bool)
    if not word.is_float:
        return values.astype(np.uint8) + (~is_raw).astype(np.uint8).take(block), outside
    values = values.astype(np.uint32)
    mantissas = values & np.uint32((1 << word.mantissa) - 1)
    signed = controls.wide | is_raw
    signs = None
    if signed.any():
        signed = signed.take(block)
        at = np.maximum(widths - 1, 0).astype(np.uint32)
        signs = (values >> at) * signed
        values ^= signs << at
    values >>= np.uint32(word.mantissa)
    as_is = is_raw | (controls.k == SENT)
    flip = np.where(as_is, 0, 0xFFFFFFFF).astype(np.uint32)
    add = np.where(as_is, 0, controls.base + 1).astype(np.uint32)
    values ^= flip.take(block)
    values += add.take(block)
    outside = values >> np.uint32(word.exponent) != 0
    values <<= np.uint32(word.mantissa)
    values |= mantissas
    if signs is not None:
        values |= signs << np.uint32(word.bits - 1)
    return values.astype(fmt.dtype), outside


def _read_each(reader: BitReader, marked, places, totals, size: int) -> np.ndarray:
    """One bit for each marked word, from its block's place on; bool of shape (blocks, size)."""
    block = marked // size
    starts = np.arange(len(marked)) + (places - (np.cumsum(totals) - totals)).take(block)
    bits = np.zeros(len(places) * size, bool)
    bits[marked] = reader.windows(starts) & np.uint64(1)
    return bits.reshape(-1, size)


def _follow_bases(d, sent_base, has_fields, is_sent, base: int) -> np.ndarray:
    """Base of each block: sent, or that of the block before plus a difference."""
    sums = np.cumsum(np.where(has_fields & ~is_sent, d - 3, 0))
    latest = np.maximum.accumulate(np.where(is_sent, np.arange(1, len(d) + 1), 0))
    anchors = np.append(base, sent_base - sums)
    return anchors[latest] + sums


def is_too_long(controls: Controls, payload: np.ndarray) -> np.ndarray:
    """Whether a block has more bits than a raw one."""
    return controls.bits + payload > RAW_BITS
