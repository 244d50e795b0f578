"""The choice of a block's coding, for floats."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.adder import exceeds
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.signals import any_of
from cdma.hdl.zvcplus.compressor.planner.base import Planner
from cdma.hdl.zvcplus.compressor.planner.masks import choose_coding, plan_mask
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    DENSE,
    NOTHING,
    RAW,
    SENT,
    BlockStats,
)
from cdma.hdl.zvcplus.config import Config

#: Bits of mode, d and k.
_FIXED_BITS = 8


def _fixed_bits(config: Config) -> int:
    """Bits of a control that each block has: mode, d, k, and whether it uses repeats."""
    return _FIXED_BITS + config.has_repeats


class FloatPlanner(Planner):
    """Choose the coding of each block and the length of its control.

    Two steps, a register after each: bits of an offset and coding of the mask; whether the block
    is too long, and the difference to the base of the block coded before. Only the last is a
    feedback loop, from base to base.

    A block can be too long only with nearly all words non-zero and nearly all their bits sent. So
    there is no multiplier: the few pairs of width and count are compared one by one.

    Members, throughput and latency are those of
    :class:`~cdma.hdl.zvcplus.compressor.planner.base.Planner`.

    Parameters
    ----------
    config : Config
        Element type, a float.
    """

    def elaborate(self, platform):
        m = Module()
        chosen, planned = self._steps(m, _Choice(self.config))
        self._choose(m, chosen.i.payload)
        moves = chosen.o.valid & planned.i.ready
        self._follow_base(m, moves, chosen.o.payload, planned.i.payload)
        return m

    def _choose(self, m, choice):
        """Bits of an offset, and coding of the mask with the length of the control."""
        word, stats = self.config.word, self.i.payload
        span = Signal(word.exponent)
        m.d.comb += [
            choice.stats.eq(stats),
            choice.count.eq(popcount(m, stats.masks.mask)),
            span.eq(stats.top - stats.least),
        ]
        k = Signal(3)
        for bit in range(word.exponent):
            with m.If(span[bit]):
                m.d.comb += k.eq(min(bit + 1, SENT))
        m.d.comb += choice.k.eq(k)
        if self.config.has_repeats:
            self._choose_repeats(m, choice, k)
        choose_coding(m, choice, stats, stats.is_wide, _fixed_bits(self.config), word)

    def _choose_repeats(self, m, choice, k):
        """Whether the block uses repeats, and what the range of exponents then is."""
        word, stats = self.config.word, self.i.payload
        new_k, span, is_used = Signal(3), Signal(word.exponent), Signal()
        m.d.comb += span.eq(stats.new_top - stats.new_least)
        for bit in range(word.exponent):
            with m.If(span[bit]):
                m.d.comb += new_k.eq(min(bit + 1, SENT))
        is_all = stats.repeats == stats.nonzeros
        m.d.comb += [
            is_used.eq(stats.repeats * word.repeat_gain > stats.nonzeros + word.count_bits),
            choice.has_repeats.eq(is_used),
            choice.is_all.eq(is_used & is_all),
            choice.repeats.eq(stats.repeats - 1),
            choice.stats.top.eq(Mux(is_used, stats.new_top, stats.top)),
            choice.k.eq(Mux(is_used, Mux(is_all, 0, new_k), k)),
        ]

    def _too_long(self, choice):
        """Whether a block is too long, and whether it is if its base is sent."""
        word, most_head = self.config.word, self.config.control_bits
        dense_bits = _fixed_bits(self.config) + 3
        is_long, is_open = [Const(0, 1)], [Const(0, 1)]
        for k, is_wide, width in widths(self.config):
            coded = (choice.k == k) & (choice.stats.is_wide == is_wide)
            for count in range(word.block_words):
                room = self.config.block_bits - count * width  # a control of as many bits
                if room <= most_head:
                    here = coded & (choice.count == count)
                    is_long.append(here & (choice.bits >= room))
                    is_open.append(here & (choice.bits >= room - word.exponent))
            room = self.config.block_bits - word.block_words * width
            here = coded & (choice.kind == DENSE)
            is_long += [here] * (dense_bits >= room)
            is_open += [here] * (dense_bits + word.exponent >= room)
        if not self.config.has_repeats:
            return any_of(is_long), any_of(is_open)
        # With repeats, no block is: the rule for their use leaves too little for it.
        plain = ~choice.has_repeats
        return any_of(is_long) & plain, any_of(is_open) & plain

    def _follow_base(self, m, moves, choice, plan):
        """The difference to the base before, and what follows from it."""
        exponent, stats, kind = self.config.word.exponent, choice.stats, choice.kind
        # The exponents that are near the base; below it by three, the lowest bits.
        most = (1 << exponent) - 1
        lowest = Signal(exponent)
        highest = Signal(exponent, init=3)
        below = Signal(3, init=-3 % 8)
        is_near, is_raw, is_coded = Signal(), Signal(), Signal()
        is_long, is_open = self._too_long(choice)
        # Without new words, the base stays.
        stays = choice.is_all if self.config.has_repeats else Const(0, 1)
        count_bits = 0
        if self.config.has_repeats:
            used = choice.has_repeats
            count_bits = Mux(used, self.config.word.count_bits, 0)
            m.d.comb += [
                plan.has_repeats.eq(used),
                plan.repeated.eq(stats.repeated & used.replicate(len(stats.repeated))),
                plan.count.eq(choice.repeats),
            ]
        m.d.comb += [
            is_near.eq((~exceeds(lowest, stats.top) & ~exceeds(stats.top, highest)) | stays),
            is_coded.eq((kind != NOTHING) & (kind != ALL_ZERO)),
            is_raw.eq(is_long | (is_open & ~is_near)),
            plan.extent.eq(stats.extent),
            plan.coding.base.eq(stats.top),
            plan.coding.k.eq(choice.k | is_raw.replicate(3)),
            plan.coding.is_wide.eq(stats.is_wide | is_raw),
            plan.kind.eq(Mux(is_raw, RAW, kind)),
            plan.d.eq(Mux(stays, 3, Mux(is_near, (stats.top[:3] - below)[:3], SENT))),
        ]
        plan_mask(m, plan, stats.masks.mask, kind)
        with m.If(kind == NOTHING):
            m.d.comb += plan.bits.eq(0)
        with m.Elif(kind == ALL_ZERO):
            m.d.comb += plan.bits.eq(2)
        with m.Elif(is_raw):
            m.d.comb += plan.bits.eq(5)
        with m.Else():
            m.d.comb += plan.bits.eq(choice.bits + Mux(is_near, 0, exponent) + count_bits)
        with m.If(moves):
            with m.If(stats.extent.last):
                m.d.sync += [lowest.eq(0), highest.eq(3), below.eq(-3)]
            with m.Elif(is_coded & ~is_raw & ~stays):
                m.d.sync += [
                    lowest.eq(Mux(stats.top < 3, 0, stats.top - 3)),
                    highest.eq(Mux(stats.top > most - 3, most, stats.top + 3)),
                    below.eq(stats.top - 3),
                ]


class _Choice(data.StructLayout):
    """A block between the steps: coding, count of non-zero words, and length of the control
    without a base."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "stats": BlockStats(config),
                "k": 3,
                "kind": 3,
                "count": range(config.word.block_words + 1),
                "bits": range(config.control_bits + 1),
                **(
                    {"has_repeats": 1, "is_all": 1, "repeats": config.word.count_bits}
                    if config.has_repeats
                    else {}
                ),
            }
        )


def widths(config: Config) -> list[tuple[int, int, int]]:
    """``k``, whether words are wide, and bits of a word, for all that a block can have."""
    word = config.word
    return [
        (k, is_wide, word.mantissa + min(k if k < SENT else word.exponent, word.exponent) + is_wide)
        for k in range(min(word.exponent, SENT) + 1)
        for is_wide in (0, 1)
    ]
