"""Compressed weights of NVDLA: three surfaces, of mask bits, weights and group sizes.

Source: NVDLA, "In-memory data formats", sparse compression option and requirements of alignment. A
bit for each element, 0 for a zero weight, little-endian, group after group (WMB); the other
weights, packed (the compressed weight surface); for each kernel group, 32 bits with the number of
bytes that are left of it (WGS). Each surface has a multiple of 128 bytes. In memory each starts at
a multiple of 256 bytes. The document fills WMB and weights up with zeros; it gives no value for the
padding of WGS, which is written as zeros and not checked. The elements come in the order that NVDLA
maps uncompressed weights in: that mapping is done before.
"""

from dataclasses import dataclass

import numpy as np

from cdma.format import ErrorCode
from cdma.golden.errors import StreamError

ALIGNMENT = 128
WORD_BITS = (8, 16)


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The three surfaces, each an ndarray of uint8.

    Attributes
    ----------
    mask : shape (a multiple of 128,)
        WMB.
    weights : shape (a multiple of 128,)
        Weights that are not zero.
    sizes : shape (a multiple of 128,)
        WGS.
    """

    mask: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray


class SurfaceSizeError(ValueError):
    """A surface has another number of bytes than it must.

    Attributes
    ----------
    surface : str
        Name in :class:`Surfaces`.
    problem : str
        What is wrong, without the name.
    """

    def __init__(self, surface: str, expected: int, found: int):
        self.surface = surface
        self.problem = f"must have {expected} bytes, not {found}"
        super().__init__(f"Surface of the {surface} {self.problem}")


def encode(words: np.ndarray, group_words: int) -> Surfaces:
    """Compress mapped weights.

    Parameters
    ----------
    words : ndarray of unsigned words of 8 or 16 bits, shape (words,)
        Bit patterns in the order of NVDLA's mapping. ``-0.0`` is not zero: the document speaks of
        zero weights only, and a weight that is sent is always right.
    group_words : int
        Elements of a kernel group, all but the last; a multiple of 8, so that the mask of a group
        begins with a byte.

    Raises
    ------
    ValueError
        When the width or the group is refused.
    """
    _check(8 * words.itemsize, group_words)
    bits = words != 0
    counts = _counts(bits, group_words)
    sizes = (counts * words.itemsize).astype("<u4")
    kept = words[bits].view(np.uint8)
    return Surfaces(
        _aligned(np.packbits(bits, bitorder="little")),
        _aligned(kept),
        _aligned(sizes.view(np.uint8)),
    )


def decode(surfaces: Surfaces, count: int, group_words: int, word_bits: int) -> np.ndarray:
    """Words of the three surfaces, shape (count,).

    Raises
    ------
    ValueError
        When the width or the group is refused.
    SurfaceSizeError
        When a surface has another size than it must.
    StreamError
        When sizes, mask and weights do not agree. The offset is that in the mask surface, in the
        surface of sizes, or of weights, which the reason names.
    """
    _check(word_bits, group_words)
    size, groups = word_bits // 8, -(-count // group_words)
    _check_size(surfaces, "mask", -(-count // 8))
    _check_size(surfaces, "sizes", 4 * groups)
    bits = np.unpackbits(surfaces.mask, bitorder="little").view(bool)
    if bits[count:].any():
        at = count + int(np.argmax(bits[count:]))
        reason = f"mask surface marks element {at} of {count}"
        raise StreamError(reason, at // 8, ErrorCode.MASK_PAST_END)
    bits = bits[:count]
    counts = _counts(bits, group_words)
    sizes = surfaces.sizes.view("<u4")[:groups]
    wrong = np.flatnonzero(counts * size != sizes)
    if wrong.size:
        group = int(wrong[0])
        told = int(sizes[group])
        reason = f"size of group {group} is {told} bytes, its mask has {counts[group] * size}"
        raise StreamError(reason, 4 * group, ErrorCode.CONTAINER)
    total = int(counts.sum()) * size
    _check_size(surfaces, "weights", total)
    kept = surfaces.weights[:total].view(f"<u{size}")
    if not kept.all():
        where = int(np.argmin(kept)) * size
        raise StreamError("weights: zero element sent as non-zero", where, ErrorCode.ZERO_WORD)
    words = np.zeros(count, f"<u{size}")
    words[bits] = kept
    return words


def _counts(bits: np.ndarray, group_words: int) -> np.ndarray:
    """Elements of each group whose bit is set."""
    starts = np.arange(0, bits.size, group_words)
    return np.add.reduceat(bits, starts, dtype=np.int64) if starts.size else starts


def _check(word_bits: int, group_words: int) -> None:
    if word_bits not in WORD_BITS:
        raise ValueError(f"Elements of NVDLA must have 8 or 16 bits, not {word_bits}")
    if group_words <= 0 or group_words % 8:
        raise ValueError(
            f"Elements of a kernel group must be a positive multiple of 8, not {group_words!r}: "
            f"the document does not say how masks that end inside a byte are joined"
        )


def _check_size(surfaces: Surfaces, name: str, used: int) -> None:
    found = getattr(surfaces, name).size
    if found != _up(used):
        raise SurfaceSizeError(name, _up(used), found)


def _up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _aligned(data: np.ndarray) -> np.ndarray:
    return np.concatenate([data, np.zeros(_up(data.size) - data.size, np.uint8)])
