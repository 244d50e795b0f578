"""The coding of a block's mask."""

from amaranth.hdl import Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
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


def choose_coding(m: Module, choice, stats, is_wide, fixed_bits, word: WordType) -> None:
    """Choose the shortest coding of a mask.

    Parameters
    ----------
    m : Module
        Gets the logic.
    choice : data.View
        Gets ``kind`` and ``bits``, the length of the control without a base.
    stats : data.View
        ``masks`` and ``extent`` of the block.
    is_wide : Value
        The block is wide.
    fixed_bits : Value or int
        Bits of the control beside mask, extension and base.
    word : WordType
        Element type.
    """
    masks = stats.masks
    by_differences = popcount(m, masks.differences)
    as_is = popcount(m, masks.as_is)
    is_differences = Signal()
    nibbles = Signal.like(as_is)
    m.d.comb += [
        is_differences.eq(by_differences <= as_is),
        nibbles.eq(Mux(is_differences, by_differences, as_is)),
    ]
    wide_bits = Mux(is_wide, 3, 0)
    # With the extension or without, the same number of nibbles is shorter than a raw mask.
    most = (word.block_words - word.flags) // 4
    with m.If(stats.extent.is_empty):
        m.d.comb += choice.kind.eq(NOTHING)
    with m.Elif(~masks.mask.any()):
        m.d.comb += choice.kind.eq(ALL_ZERO)
    with m.Elif(masks.mask.all()):
        m.d.comb += [choice.kind.eq(DENSE), choice.bits.eq(fixed_bits + 3)]
    with m.Elif(nibbles <= most):
        m.d.comb += [
            choice.kind.eq(Mux(is_differences, DIFFERENCES, AS_IS)),
            choice.bits.eq(fixed_bits + word.flags + (nibbles << 2) + wide_bits),
        ]
    with m.Else():
        m.d.comb += [
            choice.kind.eq(RAW_MASK),
            choice.bits.eq(fixed_bits + word.block_words + 3),
        ]


def plan_mask(m: Module, plan, mask, kind) -> None:
    """Give a plan its mask, and the nibbles of the mask that its control has."""
    has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
    m.d.comb += [
        plan.mask.eq(mask),
        plan.nibbles.eq(
            (mask ^ ((mask << 1) & (kind == DIFFERENCES).replicate(len(mask))))
            & (has_flags | (kind == RAW_MASK)).replicate(len(mask))
        ),
        plan.flags.eq(
            nonzero_nibbles(plan.nibbles) | (kind == RAW_MASK).replicate(len(plan.flags))
        ),
    ]
