"""Bits of repeats: of any word of a block, the bit at its rank."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.records import RepeatBits
from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, take
from cdma.verify.proofs.proof import Proof, faults


class CodesRepeats(Elaboratable):
    """The bit of a word that is not zero is at its rank, and zeros are behind the last.

    Of each block, the model takes one word, its rank, and a place, through registers as many as the
    network has, and through a queue of its own.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        plan, words = dut.plan, dut.config.word.block_words
        leave_open(m, dut, "valid", "plan")
        leaves = take(m, dut.o, "o")
        word, place = Signal(range(words)), Signal(range(words))
        layout = _Traced(dut.config)
        traced = Signal(layout, name="traced")
        total = popcount(m, plan.mask)
        m.d.comb += [
            word.eq(AnyConst(len(word))),
            place.eq(AnyConst(len(place))),
            Assume((plan.repeated & ~plan.mask) == 0),
            traced.is_marked.eq(plan.mask.bit_select(word, 1)),
            traced.is_repeated.eq(plan.repeated.bit_select(word, 1)),
            traced.rank.eq(popcount(m, plan.mask & ((1 << word) - 1)[:words])),
            traced.is_behind.eq(place >= total),
            traced.count.eq(Mux(plan.has_repeats, total, 0)),
        ]
        valid, stages = dut.valid, []
        for stage in range(dut.latency(dut.config) - 1):
            later = Signal(layout, name=f"traced{stage}")
            later_valid = Signal(name=f"valid{stage}")
            m.d.sync += [later.eq(traced), later_valid.eq(valid)]
            m.d.comb += Assert(probe(m, f"dut.beside.valid{stage}", 1) == later_valid)
            traced, valid = later, later_valid
            stages.append(valid)
        m.submodules.queue = queue = Queue(layout, dut.DEPTH)
        m.d.comb += [
            queue.i.valid.eq(valid),
            queue.i.payload.eq(traced),
            queue.o.ready.eq(dut.o.ready),
        ]
        inside = Signal(range(dut.DEPTH + 1))
        waiting = sum((queue.valid[k] for k in range(dut.DEPTH)), sum(stages[1:], stages[0]))
        m.d.sync += inside.eq(inside + dut.valid - leaves)
        m.d.comb += [
            Assume(~dut.valid | (inside != dut.DEPTH)),
            Assert(inside == waiting),
            Assert(inside <= dut.DEPTH),
            Assert((queue.valid & (queue.valid + 1)) == 0),
            Assert(dut.o.valid == queue.o.valid),
            Assert(probe(m, "dut.queue.valid", dut.DEPTH) == queue.valid),
            Cover((inside == dut.DEPTH) & (dut.o.payload.count == 3)),
        ]
        self._compare(m, queue, place)
        return m

    def _compare(self, m, queue, place):
        """What waits is what the model has of it."""
        layout = RepeatBits(self.dut.config)
        for k in range(self.dut.DEPTH):
            found = data.View(layout, probe(m, f"dut.queue.entry{k}", layout.size))
            traced = queue.entries[k]
            at_rank = found.bits.bit_select(traced.rank, 1)
            with m.If(queue.valid[k]):
                m.d.comb += [
                    Assert(found.count == traced.count),
                    Assert(~traced.is_marked | (at_rank == traced.is_repeated)),
                    Assert(~traced.is_behind | ~found.bits.bit_select(place, 1)),
                ]
                if not k:
                    m.d.comb += [
                        Assert(self.dut.o.payload.as_value() == found.as_value()),
                        Cover(traced.is_marked & traced.is_repeated & (traced.rank == 5)),
                    ]


class _Traced(data.StructLayout):
    """What is known of a block: a word, and whether a place is behind all bits."""

    def __init__(self, config: Config):
        words = config.word.block_words
        super().__init__(
            {
                "is_marked": 1,
                "is_repeated": 1,
                "rank": range(words),
                "is_behind": 1,
                "count": range(words + 1),
            }
        )


SIZES = {"fp32-left": Config("fp32", "left"), "bf16-left": Config("bf16", "left")}

PROOFS = (
    Proof(
        name="repeat_coder",
        promise="The bit of a word that is not zero comes to its rank, with zeros behind the last",
        components=(RepeatCoder,),
        design=lambda config: CodesRepeats(RepeatCoder(config)),
        sizes=SIZES,
        slow=("fp32-left", "bf16-left"),
        depth=6,
        broken=faults(
            SIZES["fp32-left"],
            8,
            late("dut.queue.i__valid"),
            stuck_at(0, "dut.beside.o", 1),
            inverted("dut.queue.i__payload", 2),
        ),
    ),
)
