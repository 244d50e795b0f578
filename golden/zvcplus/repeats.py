"""Words that repeat the one to the left or the one above, and whether a block says so."""

from dataclasses import dataclass

import numpy as np

from cdma.golden.zvcplus import masks
from cdma.zvcplus import Format


@dataclass
class Repeats:
    """Repeated words of consecutive blocks.

    Attributes
    ----------
    used : ndarray of bool, shape (blocks,)
        Whether the block has repeats; the others have none in what follows.
    repeated, above : ndarray of bool, shape (blocks, block_words)
        Repeated words, and those of them that repeat the word above.
    count : ndarray of int64, shape (blocks,)
        Repeated words.
    says_above : bool
        Whether each repeated word has a bit that tells left from above.
    """

    used: np.ndarray
    repeated: np.ndarray
    above: np.ndarray
    count: np.ndarray
    says_above: bool

    def bits(self, nonzeros: np.ndarray) -> np.ndarray:
        """Bits in front of the new words."""
        return np.where(self.used, nonzeros + self.says_above * self.count, 0)

    def drop(self, blocks: np.ndarray) -> None:
        """Forget the repeats of the blocks that are marked."""
        if (self.used & blocks).any():
            self.used = self.used & ~blocks
            self.repeated = self.repeated & self.used[:, np.newaxis]
            self.above = self.above & self.used[:, np.newaxis]
            self.count = self.count * self.used


def no_repeats(blocks: int, words: int) -> Repeats:
    """Repeats of blocks that have none."""
    none = np.broadcast_to(np.zeros(1, bool), (blocks, words))
    return Repeats(np.zeros(blocks, bool), none, none, np.zeros(blocks, np.int64), False)


def find_repeats(
    words: np.ndarray,
    block: np.ndarray,
    nonzero: np.ndarray,
    nonzeros: np.ndarray,
    first: int,
    fmt: Format,
) -> Repeats:
    """Repeats that the encoder uses in consecutive blocks.

    Parameters
    ----------
    words : ndarray of words, shape (n,)
        All words of the packet.
    block : ndarray of words, shape (blocks, block_words)
        Those of the blocks, zeros behind the last.
    nonzero : ndarray of bool, shape (blocks, block_words)
        Which of them are not zero.
    nonzeros : ndarray of int64, shape (blocks,)
        How many.
    first : int
        Number of the first block.
    fmt : Format
    """
    if fmt.repeat_number == 0:
        return no_repeats(*block.shape)
    start = first * fmt.block_words
    flat = block.reshape(-1)
    repeated = _equal_to(words, flat, start, 1)
    above = np.zeros(0, bool)
    if fmt.repeats == "above":
        above = _equal_to(words, flat, start, fmt.distance)
        far = _far_enough(start, fmt)
        if not far.all():
            above.reshape(-1, len(far))[:] &= far
        above &= ~repeated
        repeated |= above
        above = above.reshape(block.shape) & nonzero
    repeated = repeated.reshape(block.shape) & nonzero
    count = masks.count(masks.pack(repeated))
    says_above = fmt.repeats == "above"
    cost = nonzeros + says_above * count + fmt.word.count_bits
    used = count * fmt.word.repeat_gain > cost
    repeated &= used[:, np.newaxis]
    above = above & used[:, np.newaxis] if says_above else np.zeros_like(repeated)
    return Repeats(used, repeated, above, count * used, says_above)


def _far_enough(start: int, fmt: Format) -> np.ndarray:
    """Whether a word is ``min_beats`` beats or more behind the one above, for a beat of words."""
    beat = fmt.word.beat_words
    place = np.arange(start % beat, start % beat + beat) + beat * (fmt.distance // beat + 1)
    return place // beat - (place - fmt.distance) // beat >= fmt.min_beats


def _equal_to(words: np.ndarray, flat: np.ndarray, start: int, distance: int) -> np.ndarray:
    """Whether each word equals the one ``distance`` words before it; no for those without one."""
    equal = np.zeros(len(flat), bool)
    first = max(0, distance - start)
    source = words[start + first - distance :][: max(0, len(flat) - first)]
    stop = first + len(source)
    equal[first:stop] = flat[first:stop] == source
    return equal


def fill_repeats(
    out: np.ndarray, start: int, block: np.ndarray, repeats: Repeats, fmt: Format
) -> None:
    """Write the words of consecutive blocks, repeated words copied from where they come from.

    Parameters
    ----------
    out : ndarray of words, shape (n,)
        The packet, complete up to ``start``; receives the blocks' words, but none past its end.
    start : int
        Offset in words of the first block.
    block : ndarray of words, shape (blocks, block_words)
        Words of the blocks, where they are not repeated.
    repeats : Repeats
    fmt : Format
    """
    flat = block.reshape(-1)[: len(out) - start]
    out[start : start + len(flat)] = flat
    if not repeats.used.any():
        return
    reach = min(start, max(1, fmt.distance))
    window = out[start - reach : start + len(flat)]
    # Of a run of words that repeat to the left, the first; words before the blocks are complete.
    source = np.arange(len(window))
    source[reach:][(repeats.repeated & ~repeats.above).reshape(-1)[: len(flat)]] = 0
    np.maximum.accumulate(source, out=source)
    if repeats.above.any():
        above = np.flatnonzero(repeats.above.reshape(-1)[: len(flat)]) + reach
        above = above[above >= fmt.distance]  # of a wrong stream, some have no source
        hops = np.arange(len(window))
        hops[above] -= fmt.distance
        hops = source[hops]  # from the word above, on to the first of its run
        source = hops[source]
        while True:  # each round doubles the steps taken
            further = source[source]
            if np.array_equal(further, source):
                break
            source = further
    window[reach:] = window[source[reach:]]
