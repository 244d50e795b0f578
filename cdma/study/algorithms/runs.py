"""Run-length coding of zeros: the paper's RL as we define it, and that of Eyeriss."""

import numpy as np

#: Longest run of one token of RL, and of one pair of Eyeriss.
RL_LONGEST = 128
EYERISS_LONGEST = 31
_EYERISS_RUN_BITS = 5


class Runs:
    """Lengths of the runs of zero and of non-zero words in a sequence that comes in chunks."""

    def __init__(self):
        self._is_value = False
        self._length = 0

    def update(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take a chunk, shape (words,).

        Returns
        -------
        zeros, values : ndarrays of int64
            Lengths of the runs that have ended, of zero and of non-zero words; the last run is held
            back, since the next chunk may go on with it.
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
        """Length of the last run, of zero and of non-zero words; one of them is 0."""
        return (0, self._length) if self._is_value else (self._length, 0)


class RunLength:
    """Our definition of the paper's RL, which the paper does not spell out.

    Runs of zero and non-zero words alternate. A run is a token of one byte, its top bit marking
    zeros (0) from values (1) and the other seven its length less one; after the token of a run of
    values come the values. A run of more than 128 words is several.

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
        """Take the next chunk, shape (words,)."""
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

    Chen et al., *Eyeriss*, JSSC 2017. A run of more than 31 zeros is split by values that are zero,
    and so end zeros at the end of the data. Here pairs are packed without gaps, whatever the width
    of a value, and the last byte is filled up; Eyeriss packs three pairs of 5 + 16 bits and a flag
    in 64, which is 1/64 more.

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
        """Take the next chunk, shape (words,)."""
        zeros, values = self._runs.update(words)
        self._pairs += int((zeros // (EYERISS_LONGEST + 1)).sum()) + int(values.sum())

    def finish(self) -> int:
        """Size in bytes."""
        zeros, values = self._runs.finish()
        pairs = self._pairs + -(-zeros // (EYERISS_LONGEST + 1)) + values
        return -(-pairs * self._pair_bits // 8)
