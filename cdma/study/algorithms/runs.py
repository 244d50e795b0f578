"""Run-length coding of zeros: RL (our definition of the paper's algorithm), and Eyeriss' coding."""

import numpy as np

#: Longest run of one token of RL, and of one pair of Eyeriss.
RL_LONGEST = 128
EYERISS_LONGEST = 31
_EYERISS_RUN_BITS = 5


class Runs:
    """Lengths of the runs of zero and of non-zero words in a sequence of chunks."""

    def __init__(self):
        self._is_value = False
        self._length = 0

    def update(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Process the next chunk, shape (words,).

        Returns
        -------
        zeros, values : ndarrays of int64
            Lengths of the complete runs, of zero and of non-zero words. The last run is returned
            later, because it may continue in the next chunk.
        """
        bits = words != 0
        edges = np.flatnonzero(bits[1:] != bits[:-1]) + 1
        lengths = np.diff(edges, prepend=0, append=len(bits))
        first = bool(bits[0])
        if self._is_value == first or not self._length:
            lengths[0] += self._length
        else:
            lengths = np.concatenate([[self._length], lengths])
            first = not first
        self._is_value, self._length = bool(bits[-1]), int(lengths[-1])
        ended = lengths[:-1]
        even, odd = ended[::2], ended[1::2]
        return (odd, even) if first else (even, odd)

    def finish(self) -> tuple[int, int]:
        """Length of the last run, of zero and of non-zero words. One of the two is 0."""
        return (0, self._length) if self._is_value else (self._length, 0)


class RunLength:
    """Our definition of RL, because the paper does not define its own.

    Runs of zero and non-zero words alternate. A run begins with a token of one byte: the top bit is
    0 for zeros and 1 for values, the other seven bits are the length minus one. The values of a run
    follow its token. A run of more than 128 words is split.

    Parameters
    ----------
    word_bytes : int
        Bytes of a word.
    """

    def __init__(self, word_bytes: int):
        self._word_bytes = word_bytes
        self._runs = Runs()
        self._size = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        self._add(*self._runs.update(words))

    def finish(self) -> int:
        """Size in bytes."""
        self._add(*map(np.atleast_1d, self._runs.finish()))
        return self._size

    def _add(self, zeros, values):
        tokens = sum(int((-(-runs // RL_LONGEST)).sum()) for runs in (zeros, values))
        self._size += tokens + int(values.sum()) * self._word_bytes


class EyerissRunLength:
    """Eyeriss' coding: pairs of a 5-bit count of zeros and the value that follows them.

    Chen et al., *Eyeriss*, JSSC 2017. A run of more than 31 zeros is split by values that are zero.
    A run of zeros at the end of the data also ends with a value that is zero. Here pairs are packed
    without gaps for all widths of a value, and the last byte is padded. Eyeriss packs three pairs
    of 5 + 16 bits and a flag in 64 bits, which is 1/64 more.

    Parameters
    ----------
    word_bytes : int
        Bytes of a value.
    """

    def __init__(self, word_bytes: int):
        self._pair_bits = _EYERISS_RUN_BITS + 8 * word_bytes
        self._runs = Runs()
        self._pairs = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        zeros, values = self._runs.update(words)
        self._pairs += int((zeros // (EYERISS_LONGEST + 1)).sum()) + int(values.sum())

    def finish(self) -> int:
        """Size in bytes."""
        zeros, values = self._runs.finish()
        pairs = self._pairs + -(-zeros // (EYERISS_LONGEST + 1)) + values
        return -(-pairs * self._pair_bits // 8)
