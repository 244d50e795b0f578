"""Where the blocks of a stream are, and how long each is."""

import numpy as np

from cdma.format import Format
from cdma.golden.zvc.stages import nonzero_bits


def block_bits(words: np.ndarray, fmt: Format) -> np.ndarray:
    """Bits of each block in the stream, mask and words; int64 of shape (blocks,).

    Parameters
    ----------
    words : ndarray of unsigned words, shape (n,)
        The packet's data.
    fmt : Format
    """
    return fmt.word_bits * (fmt.mask_words + _kept(words, fmt).sum(axis=1))


def place_of(byte: int, words: np.ndarray, fmt: Format) -> str:
    """What a byte of the stream of ``words`` is: its block, and mask or word."""
    kept = _kept(words, fmt)
    sizes = fmt.mask_bytes + fmt.word_bytes * kept.sum(axis=1)
    ends = np.cumsum(sizes)
    block = int(np.searchsorted(ends, byte, side="right"))
    if block == len(kept):
        return "behind the last block"
    offset = byte - int(ends[block] - sizes[block])
    if offset < fmt.mask_bytes:
        return f"block {block}, mask of words {8 * offset} to {8 * offset + 7}"
    rank, at = divmod(offset - fmt.mask_bytes, fmt.word_bytes)
    return f"block {block}, byte {at} of word {int(np.flatnonzero(kept[block])[rank])}"


def _kept(words, fmt):
    """Which words of each block are in the stream; bool of shape (blocks, block_words)."""
    kept = np.zeros(-(-words.size // fmt.block_words) * fmt.block_words, bool)
    kept[: words.size] = nonzero_bits(words.reshape(-1), fmt)
    return kept.reshape(-1, fmt.block_words)
