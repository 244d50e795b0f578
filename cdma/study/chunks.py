"""Split arrays of any size into chunks."""

from collections.abc import Iterator

import numpy as np

from cdma.golden.zvc.words import to_words

#: Chunks are multiples of this size, so that no window and no block is split.
PIECE_BYTES = 1 << 16
CHUNK_BYTES = 1 << 22


def chunks(array: np.ndarray, chunk_bytes: int = CHUNK_BYTES) -> Iterator[np.ndarray]:
    """Yield the bit patterns of ``array`` in C order, a chunk at a time.

    Memory is a few chunks for any size of array, also for a transposed view of a memory-mapped
    file.

    Parameters
    ----------
    array : ndarray
        Numbers of any shape, byte order and strides.
    chunk_bytes : int
        Size of every chunk except the last, a multiple of ``PIECE_BYTES``.

    Yields
    ------
    ndarray of little-endian unsigned words, shape (words,)

    Raises
    ------
    ValueError
        When the size is not a multiple of ``PIECE_BYTES``.
    """
    if chunk_bytes <= 0 or chunk_bytes % PIECE_BYTES:
        raise ValueError(f"Chunk must be a multiple of {PIECE_BYTES} bytes, not {chunk_bytes!r}")
    length = chunk_bytes // array.itemsize
    held: list[np.ndarray] = []
    room = length
    for slab in _slabs(np.atleast_1d(array), length):
        words = to_words(slab)
        while len(words) >= room:
            held.append(words[:room])
            words = words[room:]
            yield np.concatenate(held)
            held, room = [], length
        held.append(words)
        room -= len(words)
    if room < length:
        yield np.concatenate(held)


def _slabs(array: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """Consecutive parts of ``array`` in C order, each with at most ``length`` words."""
    if array.size <= length:
        yield array
    elif array[0].size > length:
        for row in array:
            yield from _slabs(row, length)
    else:
        rows = length // array[0].size
        for first in range(0, len(array), rows):
            yield array[first : first + rows]
