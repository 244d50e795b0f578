"""Masks of blocks as packed bits, and how they are coded."""

import numpy as np

from cdma.golden.zvc.stages import popcount

_ONE = np.uint64(1)
_ONES = np.uint64(0x1111111111111111)


def pack(bits: np.ndarray) -> np.ndarray:
    """Bits of blocks, bool of shape (blocks, words), as uint64 of shape (blocks, lanes)."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    if packed.shape[1] < 8:
        wide = np.zeros((len(packed), 8), np.uint8)
        wide[:, : packed.shape[1]] = packed
        packed = wide
    return packed.view("<u8")


def unpack(lanes: np.ndarray, words: int) -> np.ndarray:
    """Inverse of ``pack``; bool of shape (blocks, words)."""
    octets = np.ascontiguousarray(lanes).view(np.uint8)[:, : words // 8]
    return np.unpackbits(octets, axis=1, bitorder="little").view(bool)


def count(lanes: np.ndarray) -> np.ndarray:
    """Ones of each block, int64 of shape (blocks,)."""
    counts = popcount(lanes)
    return counts[:, 0].astype(np.int64) if lanes.shape[1] == 1 else counts.sum(1, dtype=np.int64)


def differences(lanes: np.ndarray) -> np.ndarray:
    """Each bit XOR the one before it in its block."""
    coded = lanes ^ lanes << _ONE
    coded[:, 1:] ^= lanes[:, :-1] >> np.uint64(63)
    return coded


def undo_differences(coded: np.ndarray, words: int) -> np.ndarray:
    """Inverse of ``differences``."""
    lanes = coded.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        lanes ^= lanes << np.uint64(shift)
    for lane in range(1, lanes.shape[1]):
        lanes[:, lane] ^= np.uint64(0) - (lanes[:, lane - 1] >> np.uint64(63))
    if words < 64:
        lanes &= (_ONE << np.uint64(words)) - _ONE
    return lanes


def flags(lanes: np.ndarray) -> np.ndarray:
    """Which nibbles are not zero: bit 4 g for nibble g."""
    some = lanes | lanes >> _ONE
    some |= some >> np.uint64(2)
    some &= _ONES
    return some


def nibbles(lanes: np.ndarray, groups: int) -> np.ndarray:
    """Nibbles of each block, uint8 of shape (blocks, groups)."""
    octets = np.ascontiguousarray(lanes).view(np.uint8)[:, : groups // 2]
    split = np.empty((len(lanes), groups), np.uint8)
    np.bitwise_and(octets, 15, out=split[:, 0::2])
    np.right_shift(octets, 4, out=split[:, 1::2])
    return split


def join_nibbles(split: np.ndarray) -> np.ndarray:
    """Inverse of ``nibbles``."""
    octets = split[:, 0::2] | split[:, 1::2] << 4
    if octets.shape[1] < 8:
        wide = np.zeros((len(octets), 8), np.uint8)
        wide[:, : octets.shape[1]] = octets
        octets = wide
    return np.ascontiguousarray(octets).view("<u8")
