"""The coding of a block's mask."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    AS_IS,
    DENSE,
    DIFFERENCES,
    NOTHING,
    RAW_MASK,
)
from cdma.hdl.zvcplus.compressor.survey.masks import nonzero_nibbles
from cdma.zvcplus import WordType


def most_nibbles(word: WordType) -> int:
    """Nibbles of a mask that is coded by nibbles, at most. With the extension or without, the
    coding of as many is shorter than a raw mask."""
    return (word.block_words - word.flags) // 4


class MaskChoice:
    """How the mask of a block is coded: one of several kinds.

    Parameters
    ----------
    stats : data.View
        ``masks`` and ``extent`` of the block.
    word : WordType
        Element type.
    """

    def __init__(self, stats, word: WordType):
        masks = stats.masks
        self.is_nothing = stats.extent.is_empty
        self.is_zero = masks.is_zero & ~self.is_nothing
        self.is_dense = ~masks.zeros[0]
        self.has_flags = ~masks.is_zero & ~self.is_dense & (masks.nibbles <= most_nibbles(word))
        self.is_raw_mask = ~masks.is_zero & ~self.is_dense & (masks.nibbles > most_nibbles(word))
        self.is_coded = ~masks.is_zero
        self.is_differences = masks.is_differences
        self.nibbles = masks.nibbles
        self.word = word

    def kind(self):
        """``ALL_ZERO`` to ``NOTHING``, of a block that is not raw."""
        by_flags = Mux(self.is_differences, DIFFERENCES, AS_IS)
        coded = Mux(self.is_dense, DENSE, Mux(self.has_flags, by_flags, RAW_MASK))
        return Mux(self.is_coded, coded, Mux(self.is_nothing, NOTHING, ALL_ZERO))

    def bits(self, is_wide, more: int = 0):
        """Bits of the mask with the extension, and ``more``; of a coded block."""
        word = self.word
        by_flags = Mux(is_wide, word.flags + 3 + more, word.flags + more) + (self.nibbles << 2)
        return Mux(
            self.is_dense, 3 + more, Mux(self.has_flags, by_flags, word.block_words + 3 + more)
        )

    def plan(self, m: Module, plan, mask) -> None:
        """Give a plan the nibbles of the mask that its control has, unless its block is raw."""
        size, nibbles = len(mask), Signal(len(mask))
        # What all bits wait for has few gates. A mask of zeros has no nibbles.
        is_raw_mask = self.nibbles > most_nibbles(self.word)
        shifts = self.is_differences & ~is_raw_mask
        coded = mask ^ (Cat(Const(0, 1), mask[:-1]) & shifts.replicate(size))
        m.d.comb += [
            nibbles.eq(coded & (~self.is_dense).replicate(size)),
            plan.nibbles.eq(nibbles),
            plan.flags.eq(nonzero_nibbles(nibbles) | self.is_raw_mask.replicate(len(plan.flags))),
        ]
