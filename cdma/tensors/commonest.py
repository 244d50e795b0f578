"""The most frequent word, and the compression ratio if this word were zero."""

import numpy as np

from cdma.format import Format

#: Least share of a non-zero word for a hint.
_SHARE = 0.1
#: Least words of a tensor for a hint. The share in fewer words has no meaning.
_LEAST = 64
#: First words of a tensor in which a candidate of more than 16 bits is searched.
_SAMPLE = 1 << 16


class Commonest:
    """Counts words of a tensor in chunks.

    All words of 8 and 16 bits are counted. For wider words, only one word is counted: the most
    frequent one in the first 65,536 words of the first chunk.

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

    def finish(self, fmt: Format | None = None) -> dict | None:
        """The most frequent word if the user should know the word.

        Parameters
        ----------
        fmt : Format or None
            Format whose blocks the ratio is for; ``None`` gives the default of the word's width.

        Returns
        -------
        dict or None
            ``word`` (hexadecimal), its ``share`` of all words, and ``ratio``, bytes of the tensor
            for each encoded byte if this word were the zero value. ``None`` when the tensor has
            fewer than 64 words, or when no other word than zero has at least a tenth of all words
            and a larger share than zero.
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
        coded = (fmt or Format(bits)).stream_bytes(self._words, self._words - self._found)
        return {
            "word": f"0x{self._candidate:0{bits // 4}x}",
            "share": share,
            "ratio": self._words * self._itemsize / coded,
        }


def hint(commonest: dict | None, density: float | None) -> str | None:
    """A sentence for a user whose data has a low compression ratio.

    Parameters
    ----------
    commonest : dict or None
        From :meth:`Commonest.finish`.
    density : float or None
        Share of words that are not zero.
    """
    if commonest is not None:
        return (
            f"the commonest word is {commonest['word']} ({commonest['share']:.0%}); "
            f"ratio {commonest['ratio']:.2f} if it were zero"
        )
    if density is not None and density > 0.95:
        return f"dense: {density:.0%} of the words are not zero, so little is gained"
    return None
