"""Size of Extended Bit-Plane Compression, by a model of its published description.

L. Cavigelli, G. Rutishauser, L. Benini, *EBPC: Extended Bit-Plane Compression for Deep Neural
Network Inference and Training Accelerators*, IEEE JETCAS 9(4), 2019. Lengths of symbols and the
order of the planes are those of its authors' hardware, ``pulp-platform/stream-ebpc``.
"""

import numpy as np

#: Words in a block of the bit-plane stage. Its authors' hardware has 8 by default; 32, as in the
#: original bit-plane compression, is better for floats.
BLOCK_WORDS = 32
#: Zeros in a run at most, and the bits of a run.
MAX_RUN, _RUN_BITS = 16, 1 + 4
_DELTAS = BLOCK_WORDS - 1
_ALL_ONES = (1 << _DELTAS) - 1
_PLACE_BITS = (_DELTAS - 1).bit_length()


def _symbol_bits(plane: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """Bits of planes, by their differences from the ones before; 0 for no difference."""
    low = difference & -difference
    is_short = (difference == low) | (difference == 3 * low)  # one 1, or two neighbouring ones
    bits = np.where(is_short, 5 + _PLACE_BITS, 1 + _DELTAS)
    bits[(plane == 0) | (difference == _ALL_ONES)] = 5
    bits[difference == 0] = 0
    return bits


class ExtendedBitPlane:
    """Size of both streams of EBPC.

    The first stream marks zeros: a 1 for a word that is not zero; for up to 16 zeros, a 0 and 4
    bits of length. The second has the words that are not zero, in blocks of 32: the first word as
    it is, then the bit planes of the 31 differences between neighbours, of a bit more than a word.
    Planes go from the least significant up. Each is XORed with the one before and becomes a symbol:
    a run of zero planes (2 bits for one, 3 + log2 of the word's bits for more), all ones or a plane
    that is zero (5), a single one or two neighbouring ones (10), or the plane as it is (32). The
    last block is filled up with its last word.

    Parameters
    ----------
    word_bytes : int
        Bytes of a word.
    """

    def __init__(self, word_bytes: int):
        self._word_bits = 8 * word_bytes
        self._ones = self._runs = self._zeros = self._values = 0
        self._left = np.zeros(0, f"<u{word_bytes}")

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        places = np.flatnonzero(words)
        self._ones += len(places)
        if not len(places):
            self._zeros += len(words)
            return
        gaps = np.diff(places, prepend=-1) - 1
        gaps[0] += self._zeros
        self._runs += int((-(-gaps // MAX_RUN)).sum())
        self._zeros = len(words) - 1 - int(places[-1])
        values = np.concatenate([self._left, words[places]])
        whole = len(values) // BLOCK_WORDS * BLOCK_WORDS
        self._values += self._planes(values[:whole].reshape(-1, BLOCK_WORDS))
        self._left = values[whole:]

    def finish(self) -> int:
        """Size in bytes: each stream filled up to a byte."""
        runs = self._runs + -(-self._zeros // MAX_RUN)
        values = self._values
        if len(self._left):
            last = np.resize(self._left[-1:], BLOCK_WORDS)
            last[: len(self._left)] = self._left
            values += self._planes(last[np.newaxis])
        return -(-(self._ones + _RUN_BITS * runs) // 8) - (-values // 8)

    def _planes(self, blocks: np.ndarray) -> int:
        """Bits of blocks, shape (blocks, 32)."""
        total = self._word_bits * len(blocks)
        signed = blocks.astype(blocks.dtype.str.replace("u", "i"))
        above = np.diff(signed.astype(np.int64), axis=1) if self._word_bits < 64 else None
        run = np.zeros(len(blocks), np.int64)  # zero planes in front of this one
        before = np.zeros(len(blocks), np.int64)
        for number in range(self._word_bits + 1):
            plane = self._plane(signed, above, number)
            bits = _symbol_bits(plane, plane ^ before)
            is_zero = bits == 0
            total += int(bits.sum() + self._run_bits(run[~is_zero]))
            run = np.where(is_zero, run + 1, 0)
            before = plane
        return total + self._run_bits(run)

    def _plane(self, signed: np.ndarray, deltas: np.ndarray | None, number: int) -> np.ndarray:
        """Bit ``number`` of the differences of each block, as numbers of 31 bits."""
        if deltas is None:  # 64 bits: the top bit is that of the comparison
            deltas = np.diff(signed, axis=1)
            if number == self._word_bits:
                bits = signed[:, 1:] < signed[:, :-1]
            else:
                bits = deltas >> number & 1
        else:
            bits = deltas >> number & 1
        return (bits.astype(np.int64) << np.arange(_DELTAS)).sum(axis=1)

    def _run_bits(self, run: np.ndarray) -> int:
        """Bits of runs of zero planes."""
        long = 3 + self._word_bits.bit_length() - 1
        return 2 * int((run == 1).sum()) + long * int((run > 1).sum())
