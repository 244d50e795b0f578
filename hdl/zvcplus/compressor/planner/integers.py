"""The choice of a block's coding, for int8."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.compressor.planner.base import Planner
from cdma.hdl.zvcplus.compressor.planner.masks import choose_coding, plan_mask
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, NOTHING, RAW, BlockStats
from cdma.hdl.zvcplus.compressor.survey.integers import SUMS
from cdma.hdl.zvcplus.config import Config

#: Bits of mode and half, and of the widths of groups of 32 words; those of 16 take as many more.
_FIXED_BITS, _WIDTHS_BITS = 3, 12


class IntPlanner(Planner):
    """Choose the coding of each block of int8 and the length of its control.

    Two steps, a register after each: size of the groups, bits of the payload, and coding of the
    mask; whether the block is too long.

    Members, throughput and latency are those of
    :class:`~cdma.hdl.zvcplus.compressor.planner.base.Planner`.

    Parameters
    ----------
    config : Config
        Element type int8.
    """

    def elaborate(self, platform):
        m = Module()
        chosen, planned = self._steps(m, _Choice(self.config))
        self._choose(m, chosen.i.payload)
        self._plan(m, chosen.o.payload, planned.i.payload)
        return m

    def _choose(self, m, choice):
        """Size of the groups, and coding of the mask with the length of the control."""
        stats = self.i.payload
        m.d.comb += choice.stats.eq(stats)
        if self.config.has_repeats:
            self._choose_repeats(m, choice)
        stats = choice.stats
        small, large = (Signal(range(self.config.block_bits), name=n) for n in ("small", "large"))
        is_wide, half = Signal(), Signal()
        m.d.comb += [
            is_wide.eq(Cat(width[-1] for width in stats.widths).any()),
            small.eq(stats.small_bits + Mux(is_wide, stats.small_raised, 0)),
            large.eq(stats.large_bits + Mux(is_wide, stats.large_raised, 0)),
            half.eq(small + _WIDTHS_BITS < large),
            choice.is_wide.eq(is_wide),
            choice.half.eq(half),
            choice.payload.eq(Mux(half, small, large)),
        ]
        fixed = _FIXED_BITS + self.config.has_repeats
        fixed_bits = Mux(half, fixed + 2 * _WIDTHS_BITS, fixed + _WIDTHS_BITS)
        choose_coding(m, choice, stats, is_wide, fixed_bits, self.config.word)

    def _choose_repeats(self, m, choice):
        """Whether the block uses repeats: then the statistics are those of its new words."""
        word, stats = self.config.word, self.i.payload
        is_used = Signal()
        m.d.comb += [
            is_used.eq(stats.repeats * word.repeat_gain > stats.nonzeros + word.count_bits),
            choice.has_repeats.eq(is_used),
            *(
                choice.stats[name].eq(Mux(is_used, stats[f"new_{name}"], stats[name]))
                for name in SUMS
            ),
            *(
                width.eq(Mux(is_used, new, each))
                for width, new, each in zip(
                    choice.stats.widths, stats.new_widths, stats.widths, strict=True
                )
            ),
        ]

    def _plan(self, m, choice, plan):
        """Whether the block is too long, and the widths of its words."""
        kind, groups = choice.kind, plan.groups
        is_raw, is_long, count_bits = Signal(), Signal(), 0
        if self.config.has_repeats:
            # With repeats, no block is too long: the rule for their use leaves too little for it.
            used, repeated = choice.has_repeats, choice.stats.repeated
            count_bits = Mux(used, self.config.word.count_bits, 0)
            m.d.comb += [
                is_raw.eq(is_long & ~used),
                plan.has_repeats.eq(used),
                plan.repeated.eq(repeated & used.replicate(len(repeated))),
                plan.count.eq(choice.stats.nonzeros + choice.payload),
            ]
        else:
            m.d.comb += is_raw.eq(is_long)
        m.d.comb += [
            is_long.eq(choice.bits + choice.payload >= self.config.block_bits),
            plan.extent.eq(choice.stats.extent),
            plan.coding.is_raw.eq(is_raw),
            groups.half.eq(choice.half),
            groups.is_wide.eq(choice.is_wide),
            plan.kind.eq(Mux(is_raw, RAW, kind)),
        ]
        plan_mask(m, plan, choice.stats.masks.mask, kind)
        widths = choice.stats.widths
        for index, width in enumerate(groups.widths):
            own, other = widths[index], widths[index ^ 1]
            larger = Mux(~choice.half & (other > own), other, own)
            raised = larger | (choice.is_wide & (larger == 0))
            m.d.comb += width.eq(Mux(is_raw, self.config.word.bits, raised))
        with m.If(kind == NOTHING):
            m.d.comb += plan.bits.eq(0)
        with m.Elif(kind == ALL_ZERO):
            m.d.comb += plan.bits.eq(2)
        with m.Elif(is_raw):
            m.d.comb += plan.bits.eq(5)
        with m.Else():
            m.d.comb += plan.bits.eq(choice.bits + count_bits)


class _Choice(data.StructLayout):
    """A block between the steps: size of its groups, bits of its payload, coding, and length of
    the control."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "stats": BlockStats(config),
                "is_wide": 1,
                "half": 1,
                "payload": range(config.block_bits),
                "kind": 3,
                "bits": range(config.control_bits + 1),
                **({"has_repeats": 1} if config.has_repeats else {}),
            }
        )
