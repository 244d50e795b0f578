"""The word that occurs most often, and what compression would make of it if it were zero."""

import numpy as np

#: Share of a tensor from which on a word that is not zero is worth a hint.
_SHARE = 0.1
#: Words of a tensor from which on shares mean anything.
_LEAST = 64
#: Words in which candidates of more than 16 bits are looked for.
_SAMPLE = 1 << 16


class Commonest:
    """Counts words of a tensor, a chunk at a time.

    All words of 8 and 16 bits are counted. Of wider words it counts the one that is the commonest
    of the first chunk's first 65,536.

    Parameters
    ----------
    itemsize : int
        Bytes in a word.
    """

    def __init__(self, itemsize: int):
        self._itemsize = itemsize
        self._counts = np.zeros(1 << 8 * itemsize, np.int64) if itemsize <= 2 else None
        self._candidate: int | None = None
        self._found = self._zeros = self._words = 0

    def update(self, words: np.ndarray) -> None:
        """Count a chunk: unsigned words, shape (words,)."""
        if not words.size:
            return
        self._words += words.size
        if self._counts is not None:
            self._counts += np.bincount(words, minlength=len(self._counts))
            return
        self._zeros += int(np.count_nonzero(words == 0))
        if self._candidate is None:
            values, counts = np.unique(words[:_SAMPLE], return_counts=True)
            counts[values == 0] = 0
            self._candidate = int(values[counts.argmax()])
        self._found += int(np.count_nonzero(words == self._candidate))

    def finish(self) -> dict | None:
        """What is worth a hint.

        Returns
        -------
        dict or None
            ``word`` (hexadecimal), its ``share`` of all words, and ``ratio``, bytes of the tensor
            for each encoded byte if this word were the zero value. ``None`` when no word but zero
            has a tenth of the tensor and more of it than zero, or it has fewer than 64 words.
        """
        if self._words < _LEAST:
            return None
        if self._counts is not None:
            self._zeros = int(self._counts[0])
            self._candidate = int(self._counts[1:].argmax()) + 1
            self._found = int(self._counts[self._candidate])
        share = self._found / self._words
        if self._candidate == 0 or share < _SHARE or self._found <= self._zeros:
            return None
        bits = 8 * self._itemsize
        coded = self._words / 8 + (self._words - self._found) * self._itemsize
        return {
            "word": f"0x{self._candidate:0{bits // 4}x}",
            "share": share,
            "ratio": self._words * self._itemsize / coded,
        }


def hint(commonest: dict | None, density: float | None) -> str | None:
    """A sentence for a user whose data compresses badly.

    Parameters
    ----------
    commonest : dict or None
        Of :meth:`Commonest.finish`.
    density : float or None
        Share of words that are not zero.
    """
    if commonest is not None:
        return (
            f"the commonest word is {commonest['word']} ({commonest['share']:.0%}); "
            f"ratio {commonest['ratio']:.2f} if it were zero"
        )
    if density is not None and density > 0.95:
        return f"dense: {density:.0%} of the words are not zero, so nothing is gained"
    return None
