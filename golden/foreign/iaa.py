"""Zero-compressed data of Intel's In-Memory Analytics Accelerator: our stream with a tail of ones.

Source: documentation of the zero-compress operations in the Intel Query Processing Library.
"""

import numpy as np

from cdma.format import Format
from cdma.golden.zvc.codec import compress, decompress

WORD_BITS = (8, 16, 32)


def encode(words: np.ndarray) -> np.ndarray:
    """Bytes that IAA's zero-compress writes of unsigned words of 8, 16 or 32 bits.

    Raises
    ------
    ValueError
        When the words have another width.
    """
    return compress(words, _format(8 * words.itemsize))


def decode(data: np.ndarray, word_bits: int) -> np.ndarray:
    """Words that IAA's zero-decompress gives, shape (words,).

    Raises
    ------
    ValueError, StreamError
        When the width is none of IAA's, or the bytes are not what an encoder writes.
    """
    return decompress(data, None, _format(word_bits))


def _format(word_bits: int) -> Format:
    if word_bits not in WORD_BITS:
        raise ValueError(f"Words of IAA must have 8, 16 or 32 bits, not {word_bits}")
    return Format(word_bits, tail="ones")
