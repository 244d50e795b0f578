"""Zero-value compression (the paper's ZV), sized by the golden model's formula."""

import numpy as np

from cdma.golden import Format


class ZeroValue:
    """Size of the stream of ``docs/format.md`` with words of a given width.

    The width need not be that of the elements: bytes that do not fill the last word are taken as if
    filled up with zeros.

    Parameters
    ----------
    word_bits : int
        8, 16, 32 or 64; blocks have the format's default length.
    """

    def __init__(self, word_bits: int):
        self._format = Format(word_bits)
        self._words = 0
        self._nonzeros = 0

    def update(self, words: np.ndarray) -> None:
        """Take the next chunk, shape (words,)."""
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
