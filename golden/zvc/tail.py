"""Where a stream ends that has its own number of words: a tail of ones (``docs/format.md``)."""

from dataclasses import dataclass

import numpy as np

from cdma.format import Format
from cdma.golden.zvc import mask
from cdma.golden.zvc.walk import block_starts
from cdma.golden.zvc.words import whole_words


@dataclass(frozen=True)
class Extent:
    """How far a stream reaches.

    Attributes
    ----------
    words : int
        Words in front of the first mask bit that has no word.
    end : int
        Bytes of the masks and words up to there.
    reason : str or None
        What is missing from a stream that is cut; ``None`` where it ends as an encoder ends it.
    offset : int
        Byte offset of the mask of the block that is cut.
    """

    words: int
    end: int
    reason: str | None = None
    offset: int = 0


def extent(data: np.ndarray, fmt: Format) -> Extent:
    """Follow a stream to its end.

    A stream ends behind a whole block, or inside a block, at the first mask bit that is one and has
    no word in the stream. An encoder sets this bit and all behind it, and never sends a mask
    without a word of data before this bit.

    Parameters
    ----------
    data : ndarray of uint8, shape (bytes,)
        The stream.
    fmt : Format
        A format whose tail is ``"ones"``.
    """
    words = whole_words(data, fmt)
    size = fmt.word_bytes
    at = blocks = 0
    for starts in block_starts(words, len(words) // fmt.mask_words, fmt):
        if starts[-1] > len(words):
            starts = starts[:-1]
        blocks += len(starts) - 1
        at = int(starts[-1])
    done = blocks * fmt.block_words
    rest = len(data) - at * size
    if not rest:
        return Extent(done, at * size)
    first = at + fmt.mask_words
    if first > len(words):
        reason = f"mask of {fmt.mask_bytes} bytes expected, the stream ends at byte {len(data)}"
        return Extent(done, at * size, reason, at * size)
    bits = words[at:first].view(np.uint8)
    dry = mask.nth_one(bits, len(words) - first)  # the first bit without a word
    reason = None
    if len(data) % size:
        reason = f"word {done + dry} is cut, the stream ends at byte {len(data)}"
    elif dry == 0:
        reason = f"mask is followed by no word, the stream ends at byte {len(data)}"
    elif (behind := mask.first_zero(bits, dry)) is not None:
        reason = f"word {done + dry} is missing, although the mask goes on to word {done + behind}"
    end = len(words) if dry else at
    return Extent(done + dry, end * size, reason, at * size)
