"""The choice of a block's coding in one step, from the rules of the format."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.plain.planner.step import StepPlanner
from cdma.hdl.zvcplus.compressor.plain.records import BlockCoding, BlockPlan
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, NOTHING, RAW, RAW_MASK, SENT
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.planner.floats import FIXED_BITS, SUM_BITS
from cdma.verify.proofs.zvcplus.compressor.planner.integers import planned_mask, shortest_of
from cdma.zvcplus import RAW_BITS


class PlansSteps(Elaboratable):
    """Plan and coding are what the format's rules give for the statistics of a block and for the
    base, and each is given once.

    The model has the queues of the component, and the base itself. It multiplies where the
    component compares numbers of zeros and nibbles.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, stats = dut.config, dut.i.payload
        enters = offer(m, dut.i, "i")
        take(m, dut.o, "o")
        take(m, dut.o_coding, "coding")
        counts = self._count(m, stats)
        m.submodules.plans = plans = Queue(BlockPlan(config), 1, pipe=True)
        m.submodules.codings = codings = Queue(BlockCoding(config), dut.CODINGS)
        comes, is_due = Signal(), Signal()
        m.d.comb += [
            plans.i.valid.eq(enters),
            codings.i.valid.eq(enters),
            plans.o.ready.eq(dut.o.ready),
            codings.o.ready.eq(dut.o_coding.ready),
            Assert(dut.i.ready == (plans.i.ready & codings.i.ready)),
            Assert(dut.can_load == codings.i.ready),
            Assert(dut.o.valid == plans.o.valid),
            Assert(dut.o_coding.valid == codings.o.valid),
            Assert(~plans.o.valid | (dut.o.payload.as_value() == plans.o.payload.as_value())),
            comes.eq(dut.next_valid),
        ]
        self._plan(m, stats, counts, enters, plans.i.payload, codings.i.payload)
        self._same_queue(m, "codings", codings)
        late_next = Signal(name="late_next")
        m.d.sync += [late_next.eq(comes), is_due.eq(1)]
        m.d.comb += Assert(~is_due | (dut.o.valid == late_next))
        with m.If(dut.o.valid):
            m.d.comb += [
                Cover(dut.o.payload.kind == RAW),
                Cover((dut.o.payload.kind == RAW_MASK) & (dut.o.payload.d == 1)),
            ]
        return m

    def _same_queue(self, m, name, queue):
        """The queue of the model and that of the component have the same entries."""
        valid = probe(m, f"dut.{name}.valid", queue.depth)
        m.d.comb += Assert(valid == queue.valid)
        for k in range(queue.depth):
            entry = queue.entries[k].as_value()
            held = probe(m, f"dut.{name}.entry{k}", len(entry))
            m.d.comb += Assert(~queue.valid[k] | (held == entry))
        # Contiguous from the head.
        m.d.comb += Assert((queue.valid & (queue.valid + 1)) == 0)

    def _count(self, m, stats):
        """Words that are not zero, and nibbles of the mask and of its differences; the statistics
        are those of the mask."""
        masks, word = stats.masks, self.dut.config.word
        differences = Signal.like(masks.mask, name="mask_differences")
        m.d.comb += differences.eq(masks.mask ^ (masks.mask << 1))
        by_differences, as_is, count = (Signal(7, name=n) for n in ("by_diff", "as_is", "count"))
        for number, mask in ((by_differences, differences), (as_is, masks.mask)):
            groups = Cat(mask.word_select(group, 4).any() for group in range(word.flags))
            m.d.comb += number.eq(popcount(m, groups))
        m.d.comb += [
            count.eq(popcount(m, masks.mask)),
            Assume(masks.is_differences == (by_differences <= as_is)),
            Assume(masks.nibbles == Mux(by_differences <= as_is, by_differences, as_is)),
            Assume(masks.is_zero == (count == 0)),
            *(
                Assume(at_least == (word.block_words - count >= number + 1))
                for number, at_least in enumerate(masks.zeros)
            ),
            Assume((count == 0) | (stats.least <= stats.top)),
            Assume(~stats.extent.is_empty | (count == 0)),
        ]
        return count, by_differences, as_is

    def _plan(self, m, stats, counts, enters, plan, coding):
        """The plan and the coding of a block, behind the base of the block coded before."""
        word = self.dut.config.word
        count, by_differences, as_is = counts
        base, top = self._base(m), stats.top
        kind, bits = shortest_of(m, stats, (by_differences, as_is), stats.is_wide, word)
        k, width = SENT, Signal(6, name="width")
        for fewest in reversed(range(min(word.exponent, SENT - 1) + 1)):
            k = Mux((top - stats.least)[: word.exponent] < 1 << fewest, fewest, k)
        is_near, is_coded, is_raw = Signal(), Signal(), Signal()
        control, payload = Signal(SUM_BITS), Signal(SUM_BITS, name="payload_bits")
        uncoded = Mux(stats.extent.is_empty, NOTHING, ALL_ZERO)
        m.d.comb += [
            is_near.eq((top + 3 >= base) & (top <= base + 3)),
            is_coded.eq(count != 0),
            width.eq(word.mantissa + Mux(k == SENT, word.exponent, k) + stats.is_wide),
            control.eq(FIXED_BITS + bits + Mux(is_near, 0, word.exponent)),
            payload.eq(count * width),
            is_raw.eq(is_coded & (control + payload >= RAW_BITS)),
            plan.kind.eq(Mux(is_coded, Mux(is_raw, RAW, kind), uncoded)),
            plan.coding.base.eq(top),
            plan.coding.k.eq(k),
            plan.coding.is_wide.eq(stats.is_wide),
            plan.d.eq(Mux(is_near, top - base + 3, SENT)),
            plan.bits.eq(Mux(is_coded, Mux(is_raw, 5, control), Mux(stats.extent.is_empty, 0, 2))),
            plan.last.eq(stats.extent.last),
            coding.coding.eq(plan.coding),
            coding.is_raw.eq(is_raw),
            coding.words.eq(stats.extent.words),
            coding.last.eq(stats.extent.last),
            plan.nibbles.eq(planned_mask(stats.masks.mask, Mux(is_coded, kind, ALL_ZERO))),
            *(
                plan.flags[group].eq(
                    plan.nibbles.word_select(group, 4).any() | (is_coded & (kind == RAW_MASK))
                )
                for group in range(word.flags)
            ),
        ]
        with m.If(enters & stats.extent.last):
            m.d.sync += base.eq(0)
        with m.Elif(enters & is_coded & ~is_raw):
            m.d.sync += base.eq(top)

    def _base(self, m):
        """The base, and the registers that stand for it: of the block before, or of others."""
        exponent = self.dut.config.word.exponent
        most, base = (1 << exponent) - 1, Signal(exponent, name="base")
        expected = (
            ("lowest", exponent, Mux(base < 3, 0, base - 3)[:exponent]),
            ("highest", exponent, Mux(base > most - 3, most, base + 3)),
            ("below", 3, (base - 3)[:3]),
        )
        is_latest = probe(m, "dut.is_latest", 1)
        for name, size, value in expected:
            latest, before = (probe(m, f"dut.{of}_{name}", size) for of in ("latest", "base"))
            m.d.comb += Assert(Mux(is_latest, latest, before) == value)
        return base


PROOFS = (
    Proof(
        name="step_planner",
        promise="Plan and coding of a block are what the rules of the format give, in one step",
        components=(StepPlanner,),
        design=lambda name: PlansSteps(StepPlanner(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        slow=("fp16", "bf16"),
        broken=faults(
            "fp32",
            6,
            late("dut.base_below"),
            stuck_at(0, "dut.is_latest"),
            inverted("dut.plans.i__payload", 0),
        ),
    ),
)
