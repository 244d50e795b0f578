"""The choice of a block's coding, for int8, from the rules of the format."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.planner.integers import IntPlanner, _Choice
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    AS_IS,
    DENSE,
    DIFFERENCES,
    NOTHING,
    RAW,
    RAW_MASK,
    BlockPlan,
)
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults
from cdma.zvcplus import RAW_BITS


def has_nibbles(m: Module, stats) -> list:
    """Assumptions: the nibbles of the statistics are those of the mask, and of its differences."""
    mask = stats.masks.mask
    differences = Signal.like(mask, name="mask_differences")
    m.d.comb += differences.eq(mask ^ (mask << 1))
    return [
        Assume(marked[group] == bits.word_select(group, 4).any())
        for marked, bits in ((stats.masks.as_is, mask), (stats.masks.differences, differences))
        for group in range(len(marked))
    ]


def shortest(m: Module, stats, is_wide, word) -> tuple[Signal, Signal]:
    """The kind with the fewest bits, the first of several in the order of the format; its bits."""
    masks = stats.masks
    nibbles = popcount(m, masks.differences), popcount(m, masks.as_is)
    return shortest_of(m, stats, nibbles, is_wide, word)


def shortest_of(m: Module, stats, nibbles, is_wide, word) -> tuple[Signal, Signal]:
    """The same from the numbers of nibbles: of the mask's differences, and of the mask."""
    masks = stats.masks
    kind, bits = Signal(3, name="shortest"), Signal(12, name="mask_bits")
    by_differences, as_is = Signal(12, name="by_differences"), Signal(12, name="as_is_bits")
    raw_mask = word.block_words + 3
    more = Mux(is_wide, 3, 0)
    m.d.comb += [
        by_differences.eq(word.flags + 4 * nibbles[0] + more),
        as_is.eq(word.flags + 4 * nibbles[1] + more),
    ]
    with m.If(masks.mask.all()):
        m.d.comb += [kind.eq(DENSE), bits.eq(3)]
    with m.Elif((by_differences <= as_is) & (by_differences <= raw_mask)):
        m.d.comb += [kind.eq(DIFFERENCES), bits.eq(by_differences)]
    with m.Elif(as_is <= raw_mask):
        m.d.comb += [kind.eq(AS_IS), bits.eq(as_is)]
    with m.Else():
        m.d.comb += [kind.eq(RAW_MASK), bits.eq(raw_mask)]
    return kind, bits


def planned_mask(mask, kind):
    """The mask as its coding has it."""
    coded = Mux(kind == DIFFERENCES, mask ^ (mask << 1)[: len(mask)], mask)
    has_nibbles = (kind == DIFFERENCES) | (kind == AS_IS) | (kind == RAW_MASK)
    return Mux(has_nibbles, coded, 0)


class PlansIntegers(Elaboratable):
    """A plan is what the format's rules give for the statistics of its block.

    Plans are in order: a queue of statistics goes beside the registers of the component.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, stats = dut.config, dut.i.payload
        offer(m, dut.i, "i")
        take(m, dut.o, "o")
        m.d.comb += [*has_nibbles(m, stats), *self._bounds(stats)]
        # The same registers as in the component.
        m.submodules.chosen = chosen = Queue(_Choice(config), 2)
        m.submodules.planned = planned = Queue(BlockPlan(config), 1, pipe=True)
        m.d.comb += [
            chosen.i.valid.eq(dut.i.valid),
            planned.i.valid.eq(chosen.o.valid),
            chosen.o.ready.eq(planned.i.ready),
            planned.o.ready.eq(dut.o.ready),
            Assert(dut.i.ready == chosen.i.ready),
            Assert(dut.o.valid == planned.o.valid),
            Assert(probe(m, "dut.chosen.valid", 2) == chosen.valid),
            Assert(chosen.valid != 2),
        ]
        self._choose(m, stats, chosen.i.payload)
        self._plan(m, chosen.o.payload, planned.i.payload)
        for k in range(2):
            entry = chosen.entries[k].as_value()
            with m.If(chosen.valid[k]):
                m.d.comb += Assert(probe(m, f"dut.chosen.entry{k}", len(entry)) == entry)
        plan = dut.o.payload
        with m.If(planned.o.valid):
            m.d.comb += [
                Assert(plan.as_value() == planned.o.payload.as_value()),
                Cover(plan.kind == RAW),
                Cover((plan.kind == RAW_MASK) & plan.groups.half),
            ]
        return m

    def _bounds(self, stats):
        """Assumptions: what sums can be at most."""
        word = self.dut.config.word
        return [
            *(Assume(width <= word.bits) for width in stats.widths),
            *(
                Assume(getattr(stats, f"{size}_{name}") <= most)
                for size in ("small", "large")
                for name, most in (
                    ("bits", word.bits * word.block_words),
                    ("raised", word.block_words),
                )
            ),
            # Only words of 0 bits are raised.
            *(
                Assume(
                    getattr(stats, f"{size}_bits") + getattr(stats, f"{size}_raised")
                    <= word.bits * word.block_words
                )
                for size in ("small", "large")
            ),
        ]

    def _choose(self, m, stats, choice):
        """Size of the groups, and coding of the mask."""
        groups = self.dut.config.block_groups
        is_wide, small, large, half = Signal(), Signal(12), Signal(12), Signal()
        m.d.comb += [
            is_wide.eq(Cat(width == 8 for width in stats.widths).any()),
            small.eq(stats.small_bits + Mux(is_wide, stats.small_raised, 0)),
            large.eq(stats.large_bits + Mux(is_wide, stats.large_raised, 0)),
            # The fields of all widths count too.
            half.eq(small + 3 * groups < large + 3 * groups // 2),
        ]
        kind, bits = shortest(m, stats, is_wide, self.dut.config.word)
        m.d.comb += [
            choice.stats.eq(stats),
            choice.is_wide.eq(is_wide),
            choice.half.eq(half),
            choice.payload.eq(Mux(half, small, large)),
        ]
        with m.If(stats.extent.is_empty):
            m.d.comb += choice.kind.eq(NOTHING)
        with m.Elif(~stats.masks.mask.any()):
            m.d.comb += choice.kind.eq(ALL_ZERO)
        with m.Else():
            m.d.comb += [
                choice.kind.eq(kind),
                choice.bits.eq(2 + 1 + Mux(half, 3 * groups, 3 * groups // 2) + bits),
            ]

    def _plan(self, m, choice, plan):
        """The plan of a choice."""
        kind, stats = choice.kind, choice.stats
        is_coded, is_long = Signal(), Signal()
        widths = list(stats.widths)
        coded = Signal.like(stats.masks.mask, name="coded")
        m.d.comb += [
            is_coded.eq((kind != NOTHING) & (kind != ALL_ZERO)),
            # Blocks without a control are never long.
            is_long.eq(choice.bits + choice.payload >= RAW_BITS),
            plan.extent.eq(stats.extent),
            plan.mask.eq(stats.masks.mask),
            plan.coding.is_raw.eq(is_long),
            plan.groups.half.eq(choice.half),
            plan.groups.is_wide.eq(choice.is_wide),
            plan.kind.eq(Mux(is_long, RAW, kind)),
            plan.bits.eq(Mux(is_coded, Mux(is_long, 5, choice.bits), Mux(kind == ALL_ZERO, 2, 0))),
            coded.eq(planned_mask(stats.masks.mask, kind)),
            plan.nibbles.eq(coded),
            *(
                plan.flags[group].eq(coded.word_select(group, 4).any() | (kind == RAW_MASK))
                for group in range(len(plan.flags))
            ),
        ]
        for index, width in enumerate(plan.groups.widths):
            own, other = widths[index], widths[index ^ 1]
            joined = Mux(choice.half | (own >= other), own, other)
            raised = Mux(choice.is_wide & (joined == 0), 1, joined)
            m.d.comb += width.eq(Mux(is_long, 8, raised))


PROOFS = (
    Proof(
        name="int_planner",
        promise="The coding of a block of int8 is what the rules of the format give",
        components=(IntPlanner,),
        design=lambda config: PlansIntegers(IntPlanner(config)),
        sizes={"int8": Config("int8")},
        slow=("int8",),
        broken=faults(
            Config("int8"),
            6,
            late("dut.chosen.i__payload"),
            stuck_at(0, "dut.chosen.entry0", 0),
            inverted("dut.planned.i__payload", 0),
        ),
    ),
)
