"""What the encoder chooses for each block: the rules of ``docs/zvcplus.md``, vectorised."""

from dataclasses import dataclass

import numpy as np

from cdma.golden.zvcplus import masks
from cdma.golden.zvcplus.repeats import Repeats, find_repeats
from cdma.zvcplus import RAW_BITS, Format

#: How a block is coded.
ALL_ZERO, DIFFERENCES, AS_IS, RAW_MASK, DENSE, RAW = range(6)
#: ``d`` where the base is sent, and ``k`` where exponents are sent as they are.
SENT = 7
_BITS_OF = np.array([number.bit_length() for number in range(256)], np.uint8)


@dataclass
class Plan:
    """Choices for consecutive blocks; arrays of shape (blocks,) unless said otherwise.

    Attributes
    ----------
    words : ndarray of words, shape (blocks, block_words)
        The words, zeros behind the last.
    lanes : ndarray of uint64, shape (blocks, lanes)
        Masks, packed.
    nonzeros : ndarray of int64
    kind : ndarray of uint8
        ``ALL_ZERO`` to ``RAW``.
    wide : ndarray of bool
    repeats : Repeats
        Repeated words.
    d, k, base : ndarray of int64
        Of floats; zeros for int8.
    half : ndarray of bool
        Of int8: groups of 16 words.
    widths : ndarray of uint8, shape (blocks, groups of 16) or (blocks, 1)
        Bits of a new word: one number a block for floats, one a group of 16 for int8.
    control, payload : ndarray of int64
        Bits of control and payload.
    """

    words: np.ndarray
    lanes: np.ndarray
    nonzeros: np.ndarray
    kind: np.ndarray
    wide: np.ndarray
    repeats: Repeats
    d: np.ndarray
    k: np.ndarray
    base: np.ndarray
    half: np.ndarray
    widths: np.ndarray
    control: np.ndarray
    payload: np.ndarray


def blocks_of(words: np.ndarray, first: int, last: int, fmt: Format) -> np.ndarray:
    """Blocks ``first`` to ``last`` (excluded) of an array, the last filled up with zeros."""
    size = fmt.block_words
    part = words[first * size : last * size]
    if len(part) < (last - first) * size:
        part = np.concatenate([part, np.zeros((last - first) * size - len(part), part.dtype)])
    return part.reshape(-1, size)


def plan_blocks(words: np.ndarray, first: int, last: int, fmt: Format, base: int) -> Plan:
    """Choose the coding of consecutive blocks.

    Parameters
    ----------
    words : ndarray of words, shape (n,)
        All words of the packet: repeats refer to those before the blocks.
    first, last : int
        Blocks to plan, ``last`` excluded.
    fmt : Format
    base : int
        Base of the last block coded before ``first``; 0 at the start.
    """
    block = blocks_of(words, first, last, fmt)
    nonzero = block != 0
    lanes = masks.pack(nonzero)
    nonzeros = masks.count(lanes)
    repeats = find_repeats(words, block, nonzero, nonzeros, first, fmt)
    new_words = np.where(repeats.repeated, 0, block) if repeats.used.any() else block
    new = nonzeros - repeats.count
    code = _float_fields if fmt.word.is_float else _int8_fields
    wide, k, top, half, widths, head, body = code(block, new_words, new, lanes, repeats, fmt)

    mask_bits, kind = _mask_coding(lanes, nonzeros, wide, fmt)
    head += mask_bits + 2 + (fmt.repeat_number > 0) + repeats.used * fmt.word.count_bits
    body += repeats.bits(nonzeros)
    d = np.zeros(len(block), np.int64)
    is_raw = head + body >= RAW_BITS
    if fmt.word.is_float:
        d, is_raw, top = _follow_bases(head + body, top, new > 0, nonzeros > 0, base, fmt)
        head += fmt.word.exponent * (d == SENT)
    kind[is_raw] = RAW
    head[is_raw], body[is_raw] = 5, 8 * 128
    is_zero = nonzeros == 0
    kind[is_zero] = ALL_ZERO
    head[is_zero], body[is_zero] = 2, 0
    widths[is_raw] = fmt.word_bits
    repeats.drop(is_raw)
    wide[is_raw] = False
    return Plan(
        block, lanes, nonzeros, kind, wide, repeats, d, k, top, half, widths, head, body
    )  # fmt: skip


def _mask_coding(
    lanes: np.ndarray, nonzeros: np.ndarray, wide: np.ndarray, fmt: Format
) -> tuple[np.ndarray, np.ndarray]:
    """Bits of the shortest mask coding, and its kind; ties go to the first."""
    group_flags, size = fmt.word.flags, fmt.block_words
    coded = [masks.flags(masks.differences(lanes)), masks.flags(lanes)]
    if size < 64:  # the difference behind the last word is no mask bit
        coded[0] &= (np.uint64(1) << np.uint64(size)) - np.uint64(1)
    by_flags = [group_flags + 4 * masks.count(each) + 3 * wide for each in coded]
    raw = np.full(len(lanes), size + 3)
    dense = np.where(nonzeros == size, 3, 1 << 20)
    costs = np.stack([*by_flags, raw, dense])
    kind = costs.argmin(axis=0)
    return costs.min(axis=0), (kind + DIFFERENCES).astype(np.uint8)


def _float_fields(block, new_words, new, lanes, repeats, fmt: Format):
    """Wide, k, largest exponent, half, widths, and bits of control and of new words."""
    word = fmt.word
    field = np.array(((1 << word.exponent) - 1) << word.mantissa, block.dtype)
    exponents = new_words & field
    top = exponents.max(axis=1) >> word.mantissa
    exponents |= np.where(new_words == 0, field, 0)
    least = exponents.min(axis=1) >> word.mantissa
    span = np.where(new > 0, top - least, 0)
    k = _BITS_OF[span].astype(np.int64)
    k[k > 6] = SENT
    wide = (block.max(axis=1) >> (word.bits - 1)).astype(bool)
    widths = word.mantissa + np.where(k == SENT, word.exponent, k) + wide
    head = np.full(len(block), 6)
    half = np.zeros(len(block), bool)
    return (
        wide, k, top.astype(np.int64), half, widths[:, np.newaxis].astype(np.uint8),
        head, new * widths,
    )  # fmt: skip


def _int8_fields(block, new_words, new, lanes, repeats, fmt: Format):
    """As ``_float_fields``."""
    most = new_words.reshape(len(block), 8, 16).max(axis=2)
    by_16 = _BITS_OF[most - (most > 0)]
    by_32 = np.repeat(np.maximum(by_16[:, 0::2], by_16[:, 1::2]), 2, axis=1)
    wide = by_16.max(axis=1) > 7
    raised = wide[:, np.newaxis]
    by_16 = np.maximum(by_16, raised)
    by_32 = np.maximum(by_32, raised)
    if repeats.used.any():
        lanes = masks.pack(new_words != 0)
    counts = masks.popcount(lanes.view("<u2")).astype(np.uint16)
    bits_16 = (counts * by_16).sum(axis=1, dtype=np.int64)
    bits_32 = (counts * by_32).sum(axis=1, dtype=np.int64)
    half = 24 + bits_16 < 12 + bits_32
    widths = np.where(half[:, np.newaxis], by_16, by_32)
    head = np.where(half, 25, 13)
    zeros = np.zeros(len(block), np.int64)
    return wide, zeros, zeros, half, widths, head, np.where(half, bits_16, bits_32)


def _follow_bases(size, top, is_setting, is_coded, base: int, fmt: Format):
    """``d``, whether each block is raw, and its base: each depends on the base coded before.

    Only blocks that are raw with a base that is sent, and not raw without, are taken one by one.
    """
    reach = fmt.word.exponent
    is_raw = is_coded & (size >= RAW_BITS)
    is_open = is_coded & is_setting & ~is_raw & (size + reach >= RAW_BITS)
    sets = is_coded & is_setting & ~is_raw & ~is_open
    for block in np.flatnonzero(is_open).tolist():
        before = np.flatnonzero(sets[:block])
        last = int(top[before[-1]]) if len(before) else base
        is_raw[block] = not -3 <= int(top[block]) - last <= 3
        sets[block] = not is_raw[block]
    # Base of the last setting block up to each block, and before it.
    latest = np.maximum.accumulate(np.where(sets, np.arange(1, len(size) + 1), 0))
    bases = np.append(base, top)[np.append(0, latest)]
    previous, current = bases[:-1], bases[1:]
    difference = current - previous
    d = np.where(np.abs(difference) <= 3, difference + 3, SENT)
    return d, is_raw, current
