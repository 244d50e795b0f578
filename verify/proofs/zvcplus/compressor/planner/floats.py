"""The choice of a block's coding, for floats, from the rules of the format."""

from amaranth.hdl import Assert, Assume, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.planner.floats import FloatPlanner, _Choice
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    DENSE,
    NOTHING,
    RAW,
    RAW_MASK,
    SENT,
    BlockPlan,
)
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.planner.integers import (
    has_nibbles,
    planned_mask,
    shortest,
)
from cdma.zvcplus import RAW_BITS

#: Bits of mode, d and k.
FIXED_BITS = 8
#: Bits of sums: a whole block has 1,029 at most, and none that is too long 2,048.
SUM_BITS = 12


class PlansFloats(Elaboratable):
    """A plan is what the format's rules give for the statistics of its block and for the base.

    The model has the registers of the component, and the base itself.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, stats = dut.config, dut.i.payload
        offer(m, dut.i, "i")
        take(m, dut.o, "o")
        m.d.comb += [
            *has_nibbles(m, stats),
            Assume(~stats.extent.is_empty | (stats.masks.mask == 0)),
        ]
        if config.has_repeats:
            m.d.comb += [
                Assume(stats.nonzeros == popcount(m, stats.masks.mask)),
                Assume(stats.repeats == popcount(m, stats.repeated)),
                Assume((stats.repeated & ~stats.masks.mask) == 0),
            ]
        m.submodules.chosen = chosen = Queue(_Choice(config), 2)
        m.submodules.planned = planned = Queue(BlockPlan(config), 1, pipe=True)
        moves = Signal()
        m.d.comb += [
            chosen.i.valid.eq(dut.i.valid),
            planned.i.valid.eq(chosen.o.valid),
            chosen.o.ready.eq(planned.i.ready),
            planned.o.ready.eq(dut.o.ready),
            moves.eq(chosen.o.valid & planned.i.ready),
            Assert(dut.i.ready == chosen.i.ready),
            Assert(dut.o.valid == planned.o.valid),
            Assert(probe(m, "dut.chosen.valid", 2) == chosen.valid),
            Assert(chosen.valid != 2),
        ]
        self._choose(m, stats, chosen.i.payload)
        self._plan(m, moves, chosen.o.payload, planned.i.payload)
        for k in range(2):
            entry = chosen.entries[k]
            size = len(entry.as_value())
            with m.If(chosen.valid[k]):
                same = probe(m, f"dut.chosen.entry{k}", size) == entry.as_value()
                m.d.comb += [Assert(same), *map(Assert, self._bounds(entry))]
        plan = dut.o.payload
        with m.If(planned.o.valid):
            m.d.comb += [
                Assert(plan.as_value() == planned.o.payload.as_value()),
                Cover(plan.kind == RAW),
                Cover((plan.kind == DENSE) & (plan.d == 1)),
            ]
        return m

    def _fixed(self):
        return FIXED_BITS + self.dut.config.has_repeats

    def _bounds(self, choice):
        """What the second step relies on."""
        config, word = self.dut.config, self.dut.config.word
        most = min(word.exponent, SENT)
        is_dense = choice.count == word.block_words
        return [
            choice.k <= most,
            choice.count <= word.block_words,
            (choice.kind <= DENSE) | (choice.kind == NOTHING),
            choice.bits <= self._fixed() + word.block_words + 3,
            (choice.kind == DENSE) == is_dense,
            ~is_dense | (choice.bits == self._fixed() + 3),
            ((choice.kind == NOTHING) | (choice.kind == ALL_ZERO)) == (choice.count == 0),
            (choice.count != 0) | (choice.bits == 0),
            *(
                (
                    choice.count == choice.stats.nonzeros,
                    choice.stats.repeats <= choice.stats.nonzeros,
                    choice.has_repeats == self._is_used(choice.stats),
                )
                if config.has_repeats
                else ()
            ),
        ]

    def _is_used(self, stats):
        """Repeats save more bits than they cost."""
        word = self.dut.config.word
        return stats.repeats * (word.mantissa + 2) > stats.nonzeros + word.count_bits

    def _choose(self, m, stats, choice):
        """Bits of an offset, and coding of the mask."""
        config, word = self.dut.config, self.dut.config.word
        top, least, is_all = stats.top, stats.least, 0
        m.d.comb += [choice.stats.eq(stats), choice.count.eq(popcount(m, stats.masks.mask))]
        if config.has_repeats:
            is_used = Signal()
            m.d.comb += is_used.eq(self._is_used(stats))
            top, least = Mux(is_used, stats.new_top, top), Mux(is_used, stats.new_least, least)
            is_all = is_used & (stats.repeats == stats.nonzeros)
            m.d.comb += [
                choice.has_repeats.eq(is_used),
                choice.is_all.eq(is_all),
                choice.repeats.eq(stats.repeats - 1),
                choice.stats.top.eq(top),
            ]
        span = Signal(word.exponent, name="span")
        m.d.comb += span.eq(top - least)
        k = SENT
        for bits in reversed(range(min(word.exponent, SENT - 1) + 1)):
            k = Mux(span < 1 << bits, bits, k)
        kind, bits = shortest(m, stats, stats.is_wide, word)
        m.d.comb += choice.k.eq(Mux(is_all, 0, k))
        with m.If(stats.extent.is_empty):
            m.d.comb += choice.kind.eq(NOTHING)
        with m.Elif(~stats.masks.mask.any()):
            m.d.comb += choice.kind.eq(ALL_ZERO)
        with m.Else():
            m.d.comb += [choice.kind.eq(kind), choice.bits.eq(self._fixed() + bits)]

    def _plan(self, m, moves, choice, plan):
        """The plan of a choice, behind the base of the block coded before."""
        config, word = self.dut.config, self.dut.config.word
        stats, kind = choice.stats, choice.kind
        base = self._base(m)
        is_near, is_coded, is_long = Signal(), Signal(), Signal()
        stays = choice.is_all if config.has_repeats else Const(0, 1)
        is_used = choice.has_repeats if config.has_repeats else Const(0, 1)
        control, width = Signal(SUM_BITS), Signal(6)
        payload = Signal(SUM_BITS, name="payload_bits")
        new = choice.count
        if config.has_repeats:
            new = choice.count - Mux(is_used, stats.repeats, 0)
        top = stats.top
        m.d.comb += [
            is_near.eq(stays | ((top + 3 >= base) & (top <= base + 3))),
            is_coded.eq((kind != NOTHING) & (kind != ALL_ZERO)),
            width.eq(
                word.mantissa + Mux(choice.k == SENT, word.exponent, choice.k) + stats.is_wide
            ),
            control.eq(
                choice.bits + Mux(is_near, 0, word.exponent) + Mux(is_used, word.count_bits, 0)
            ),
            payload.eq(Mux(is_used, choice.count, 0) + new * width),
            is_long.eq(is_coded & (control + payload >= RAW_BITS)),
            plan.extent.eq(stats.extent),
            plan.mask.eq(stats.masks.mask),
            plan.coding.base.eq(top),
            plan.coding.k.eq(Mux(is_long, SENT, choice.k)),
            plan.coding.is_wide.eq(stats.is_wide | is_long),
            plan.kind.eq(Mux(is_long, RAW, kind)),
            plan.d.eq(Mux(stays, 3, Mux(is_near, top - base + 3, SENT))),
            plan.bits.eq(Mux(is_coded, Mux(is_long, 5, control), Mux(kind == ALL_ZERO, 2, 0))),
        ]
        self._plan_mask(m, choice, plan)
        with m.If(moves & stats.extent.last):
            m.d.sync += base.eq(0)
        with m.Elif(moves & is_coded & ~is_long & ~stays):
            m.d.sync += base.eq(top)

    def _plan_mask(self, m, choice, plan):
        """Nibbles and flags, and what is repeated."""
        stats, kind = choice.stats, choice.kind
        coded = Signal.like(stats.masks.mask, name="coded")
        m.d.comb += [
            coded.eq(planned_mask(stats.masks.mask, kind)),
            plan.nibbles.eq(coded),
            *(
                plan.flags[group].eq(coded.word_select(group, 4).any() | (kind == RAW_MASK))
                for group in range(len(plan.flags))
            ),
        ]
        if self.dut.config.has_repeats:
            m.d.comb += [
                plan.has_repeats.eq(choice.has_repeats),
                plan.repeated.eq(Mux(choice.has_repeats, stats.repeated, 0)),
                plan.count.eq(choice.repeats),
            ]

    def _base(self, m):
        """The base, and the registers that stand for it."""
        exponent = self.dut.config.word.exponent
        most, base = (1 << exponent) - 1, Signal(exponent, name="base")
        m.d.comb += [
            Assert(probe(m, "dut.lowest", exponent) == Mux(base < 3, 0, base - 3)[:exponent]),
            Assert(probe(m, "dut.highest", exponent) == Mux(base > most - 3, most, base + 3)),
            Assert(probe(m, "dut.below", 3) == (base - 3)[:3]),
        ]
        return base


SIZES = {
    "fp32": Config("fp32"),
    "fp16": Config("fp16"),
    "fp32-left": Config("fp32", "left"),
}

PROOFS = (
    Proof(
        name="float_planner",
        promise="The coding of a block of floats is what the rules of the format give",
        components=(FloatPlanner,),
        design=lambda config: PlansFloats(FloatPlanner(config)),
        sizes=SIZES,
        slow=("fp16", "fp32-left"),
        broken=faults(
            SIZES["fp32"],
            6,
            late("dut.below"),
            stuck_at(0, "dut.chosen.entry0", 0),
            inverted("dut.planned.i__payload", 0),
        ),
    ),
)
