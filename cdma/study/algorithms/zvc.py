"""Size of zero-value compression (the paper's ZV), by the formula of the golden model."""

import numpy as np

from cdma.golden import Format


class ZeroValue:
    """Size of the stream of ``docs/format.md`` with words of a given width.

    The width may differ from the width of the elements. The last word is padded with zero bytes.

    Parameters
    ----------
    word_bits : int
        8, 16, 32 or 64. Blocks have the default length of the format.
    """

    def __init__(self, word_bits: int):
        self._format = Format(word_bits)
        self._words = 0
        self._nonzeros = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        data = words.view(np.uint8)
        missing = -len(data) % self._format.word_bytes
        if missing:
            data = np.concatenate([data, np.zeros(missing, np.uint8)])
        taken = data.view(self._format.dtype)
        self._words += len(taken)
        self._nonzeros += int(np.count_nonzero(taken))

    def finish(self) -> int:
        """Size in bytes."""
        return self._format.stream_bytes(self._words, self._nonzeros)
