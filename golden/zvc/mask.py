"""Bits of one mask, found in its bytes: a mask may have 2**32 bits, too many for an array of them.

A mask is an ndarray of uint8; bit ``i`` is bit ``i % 8`` of byte ``i / 8``.
"""

import numpy as np

from cdma.golden.zvc.stages import popcount

_PIECE = 1 << 20  # bytes of a mask that are counted at a time


def bits_before(mask: np.ndarray, stop: int) -> np.ndarray:
    """The first ``stop`` bits, bool of shape (stop,)."""
    return np.unpackbits(mask[: -(-stop // 8)], count=stop, bitorder="little").view(bool)


def nth_one(mask: np.ndarray, n: int) -> int:
    """Position of the ``n``-th bit that is one, counted from 0; the mask has more than ``n``."""
    for at in range(0, len(mask), _PIECE):
        counts = np.cumsum(popcount(mask[at : at + _PIECE]), dtype=np.int64)
        if n < counts[-1]:
            break
        n -= int(counts[-1])
    byte = int(np.searchsorted(counts, n, side="right"))
    rank = n - (int(counts[byte - 1]) if byte else 0)
    byte += at
    return 8 * byte + int(np.flatnonzero(bits_before(mask[byte : byte + 1], 8))[rank])


def last_one(mask: np.ndarray) -> int | None:
    """Position of the last bit that is one."""
    marked = mask != 0
    if not marked.any():
        return None
    byte = len(mask) - 1 - int(np.argmax(marked[::-1]))
    return 8 * byte + int(mask[byte]).bit_length() - 1


def first_zero(mask: np.ndarray, start: int) -> int | None:
    """Position of the first bit from ``start`` on that is zero."""
    at = start // 8
    ones = mask[at:] == 0xFF
    if start % 8:  # bits in front of the start count as ones
        ones[0] = mask[at] | (1 << start % 8) - 1 == 0xFF
    if ones.all():
        return None
    byte = at + int(np.argmin(ones))
    before = start % 8 if byte == at else 0
    return 8 * byte + before + int(np.argmin(bits_before(mask[byte : byte + 1], 8)[before:]))
