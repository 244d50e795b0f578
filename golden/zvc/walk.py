"""Where blocks start in a stream: each start depends on the masks of all blocks before it."""

from collections.abc import Iterator

import numpy as np

from cdma.format import Format
from cdma.golden.zvc.stages import popcount

# Words of one step: the tables of the doubling fit the cache, and memory is bounded.
_WINDOW_WORDS = 1 << 16
# The scalar walk takes every 2**2-th block; more doublings cost more than the steps they save.
_DOUBLINGS = 2


def gather_masks(words: np.ndarray, starts: np.ndarray, fmt: Format) -> np.ndarray:
    """Masks that lie at word offsets ``starts``, words of shape (starts, mask_words)."""
    return words[starts[:, np.newaxis] + np.arange(fmt.mask_words)]


def block_starts(words: np.ndarray, blocks: int, fmt: Format) -> Iterator[np.ndarray]:
    """Follow the masks of a stream from its first word.

    Parameters
    ----------
    words : ndarray of words
        The stream.
    blocks : int
        Blocks to follow at most.

    Yields
    ------
    ndarray of int64, shape (k + 1,)
        Word offsets of the next ``k`` blocks, ``k > 0``, and of what follows them. Ends after
        ``blocks`` blocks, or before a block whose mask is not whole. Only the very last offset may
        lie past the end of the stream: the payload before it is not whole then.
    """
    at = 0
    while blocks and at + fmt.mask_words <= len(words):
        following = _following(words[at : at + _WINDOW_WORDS + fmt.mask_words - 1], fmt)
        path = _path(following)[:blocks]
        end = following[path[-1]]
        yield np.append(path, end) + at
        blocks -= len(path)
        at += int(end)


def lockstep_starts(
    words: np.ndarray, firsts: np.ndarray, blocks: int, fmt: Format
) -> tuple[np.ndarray, np.ndarray]:
    """Follow many chunks of a stream side by side, one block of each at a time.

    Parameters
    ----------
    words : ndarray of words
        The stream, not empty.
    firsts : ndarray of int64, shape (chunks,)
        Word offsets of the chunks.
    blocks : int
        Blocks in each chunk.

    Returns
    -------
    starts : ndarray of int64, shape (chunks, blocks)
        Word offsets of all blocks.
    ends : ndarray of int64, shape (chunks,)
        Word offset behind each chunk. Offsets past the end of ``words`` only mean "past the end".
    """
    starts = np.empty((blocks, len(firsts)), np.int64)
    at = firsts.copy()
    last = len(words) - fmt.mask_words
    for row in starts:
        row[:] = at
        masks = gather_masks(words, np.minimum(at, last), fmt)
        at += fmt.mask_words
        at += popcount(masks).sum(axis=1, dtype=np.int64)
    return np.ascontiguousarray(starts.T), at


def _following(words: np.ndarray, fmt: Format) -> np.ndarray:
    """For each offset where a whole mask fits: where the next block starts if one starts there."""
    total = np.zeros(len(words) + 1, np.int64)
    np.cumsum(popcount(words), out=total[1:])
    kept = total[fmt.mask_words :] - total[: -fmt.mask_words]
    kept += np.arange(fmt.mask_words, fmt.mask_words + len(kept))
    return kept


def _path(following: np.ndarray) -> np.ndarray:
    """Offsets met when starting at 0 and going from ``i`` to ``following[i]`` until past its end.

    Pointer doubling: ``jump`` leads 1, 2, then 4 blocks on; a scalar walk then takes the longest
    jumps and the shorter ones fill in what lies between.
    """
    size = len(following)
    jump = np.append(np.minimum(following, size), size)  # the end leads to itself
    jumps = []
    for _ in range(_DOUBLINGS):
        jumps.append(jump)
        jump = jump[jump]
    strides = memoryview(jump)
    path, at = [], 0
    while at < size:
        path.append(at)
        at = strides[at]
    path = np.array(path)
    for jump in reversed(jumps):
        path = np.stack([path, jump[path]], axis=1).reshape(-1)
    return path[path < size]
