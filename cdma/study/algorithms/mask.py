"""Figures of the zero mask alone: density, uniform blocks, entropy."""

import math

import numpy as np

from cdma.golden import Format


class Mask:
    """Counts of words and blocks. Blocks have the default length of the format for these words.

    Parameters
    ----------
    word_bits : int
        8, 16, 32 or 64.
    """

    def __init__(self, word_bits: int):
        self._block = Format(word_bits).block_words
        self.words = 0
        self.nonzeros = 0
        self.blocks = 0
        self.zero_blocks = 0
        self.full_blocks = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        bits = words != 0
        self.words += len(bits)
        missing = -len(bits) % self._block
        if missing:  # the last block is padded with zero words, as in the stream
            bits = np.concatenate([bits, np.zeros(missing, bool)])
        counts = np.count_nonzero(bits.reshape(-1, self._block), axis=1)
        self.nonzeros += int(counts.sum())
        self.blocks += len(counts)
        self.zero_blocks += int(np.count_nonzero(counts == 0))
        self.full_blocks += int(np.count_nonzero(counts == self._block))


def entropy_bound(words: int, nonzeros: int, word_bytes: int) -> int:
    """Least bytes for a mask with bits that are coded one by one, and for the non-zero words.

    The mask takes ``words`` times the binary entropy of the density, in bits. Where zeros cluster,
    a code that uses neighbouring words, such as run lengths, can be smaller.
    """
    if nonzeros in (0, words):
        return nonzeros * word_bytes
    density = nonzeros / words
    bits = -words * (density * math.log2(density) + (1 - density) * math.log2(1 - density))
    return math.ceil(bits / 8) + nonzeros * word_bytes
