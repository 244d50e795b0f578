"""Tables that the walk looks headers, widths and parts of masks up in."""

from functools import cache

import numpy as np

from cdma.golden.zvc.stages import popcount
from cdma.golden.zvcplus.plan import AS_IS, DENSE, DIFFERENCES, RAW, RAW_MASK, SENT
from cdma.zvcplus import TYPES

#: Kind of a control whose extension is reserved.
RESERVED = 6
#: Kind and whether words are wide, by ``ext`` of mode 3.
EXTENSIONS = (
    *((RAW, False), (RAW_MASK, False), (DENSE, False), (RESERVED, False)),
    *((DIFFERENCES, True), (RAW_MASK, True), (DENSE, True), (AS_IS, True)),
)
#: Bits of the longest header: mode, ext, rep, d and k.
HEADER_BITS = 12
#: First state of a mask of differences, and of one as it is.
EVEN, NO_DIFFERENCES = 0, 2 << 5


def read_header(bits: int, type_: str, repeat_number: int) -> tuple[int, bool, bool, int, int, int]:
    """Kind, wide, rep, then d and k, or half and 0; and the bits that they take."""
    mode, bits, length = bits & 3, bits >> 2, 2
    kind, is_wide, has_repeats = mode, False, False
    if mode == 3:
        (kind, is_wide), bits, length = EXTENSIONS[bits & 7], bits >> 3, 5
    if kind in (0, RAW, RESERVED):
        return kind, is_wide, False, 0, 0, length
    if repeat_number:
        has_repeats, bits, length = bool(bits & 1), bits >> 1, length + 1
    if TYPES[type_].is_float:
        return kind, is_wide, has_repeats, bits & 7, bits >> 3 & 7, length + 6
    return kind, is_wide, has_repeats, bits & 1, 0, length + 1


@cache
def headers(type_: str, repeat_number: int) -> list[tuple]:
    """``read_header`` of all bits that a header can be."""
    return [read_header(bits, type_, repeat_number) for bits in range(1 << HEADER_BITS)]


@cache
def header_columns(type_: str, repeat_number: int) -> np.ndarray:
    """``headers`` as an array of shape (fields, headers)."""
    return np.array(headers(type_, repeat_number), np.int64).T.copy()


@cache
def float_headers(type_: str, repeat_number: int) -> list[tuple[int, int, int, int, bool]]:
    """Kind, bits of the header, of the base and of a new word, and rep, by the header's bits."""
    word, table = TYPES[type_], []
    for kind, is_wide, has_repeats, d, k, length in headers(type_, repeat_number):
        width = word.mantissa + (word.exponent if k == SENT else k) + is_wide
        base = word.exponent if d == SENT else 0
        table.append((kind, length, base, width, has_repeats))
    return table


@cache
def group_bits(is_wide: bool, half: int) -> list[tuple[tuple[bytes, bytes], ...]]:
    """Widths of 12 bits, in pairs for two segments: each width twice, or two widths with ``half``.

    A width is given as the bits of all new words of a segment, by the segment's entry.
    """
    rows = [bytes((entry & 31) * width for entry in range(128)) for width in range(9)]
    pairs = []
    for bits in range(4096):
        widths = [rows[(bits >> at & 7) + is_wide] for at in (0, 3, 6, 9)]
        firsts, seconds = (widths[0::2], widths[1::2]) if half else (widths, widths)
        pairs.append(tuple(zip(firsts, seconds, strict=True)))
    return pairs


#: Where in a table of ``segments`` each 4 flags start: small tables stay in the cache.
_OFFSETS = np.append(0, np.cumsum([16 ** flags.bit_count() for flags in range(16)])).tolist()


@cache
def segments() -> tuple[bytes, ...]:
    """Ones of 16 mask bits, by their 4 flags and the nibbles that are sent for them.

    An entry is the number of ones (5 bits) and the state behind the segment (2 bits). There is a
    table for each entry that is in front of the segment, but only three different ones: for an even
    and an odd number of differences so far, and for a mask without differences.
    """
    tables = np.empty((3, _OFFSETS[-1]), np.uint8)
    for flags in range(16):
        sent = np.arange(16 ** flags.bit_count(), dtype=np.uint32)
        coded, taken = np.zeros(len(sent), np.uint32), 0
        for group in range(4):
            if flags >> group & 1:
                coded |= (sent >> taken & 15) << 4 * group
                taken += 4
        mask = coded.astype(np.uint16)
        here = slice(_OFFSETS[flags], _OFFSETS[flags + 1])
        tables[2, here] = popcount(mask) | NO_DIFFERENCES
        for shift in (1, 2, 4, 8):
            mask ^= mask << np.uint16(shift)
        for parity, each in enumerate((mask, ~mask)):
            tables[parity, here] = popcount(each) | (each >> np.uint16(15)).astype(np.uint8) << 5
    by_state = [table.tobytes() for table in tables]
    return tuple(by_state[min(entry >> 5, 2)] for entry in range(128))


@cache
def flag_segments() -> list[tuple[int, ...]]:
    """For 8 flags and each 4 of them: where they start in a table of ``segments``, which of the
    next bits are their nibbles, and how many bits those are.
    """
    fours = []
    for flags in range(16):
        bits = 4 * flags.bit_count()
        fours.append((_OFFSETS[flags], (1 << bits) - 1, bits))
    return [fours[bits & 15] + fours[bits >> 4] for bits in range(256)]
