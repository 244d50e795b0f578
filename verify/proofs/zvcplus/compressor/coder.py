"""The coder of all types and of repeats: its parts take the same beats, plans and items."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor import coder, landing
from cdma.hdl.zvcplus.compressor.coder import BlockCoder
from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.place import BitPlacer, _Appended
from cdma.hdl.zvcplus.compressor.records import Place
from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults

#: Parts whose ports the model looks at.
PARTS = (
    *("ElasticLine", "FloatSurvey", "FloatPlanner", "PayloadCounter", "RepeatCoder"),
    *("StreamOrder", "BitPlacer", "BitAssembler", "Counter"),
)


class PlainCounter(Counter):
    """The sum of a :class:`Counter` in one piece."""

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.value.eq(Mux(self.restart, 0, self.value) + self.step)
        return m


class AnyRepeats(RepeatCoder):
    """Gives any bits of repeats, at any time."""

    def elaborate(self, platform):
        m = Module()
        offer(m, self.o, "repeats")
        return m


class FitsItsParts(Elaboratable):
    """Beats that come in go to the line and to the survey at once; no block's statistics are lost
    or planned twice. A plan goes once to the order and to the coder of repeats. An item takes the
    plan, the payload and the beat that are there, each once, and comes to the assembler in the same
    cycle as its place. Behind a packet's last item, the assembler has the words of all its beats.

    What the parts do is proven of each. Instead of the coder of repeats there is one that gives any
    bits at any time, so that nothing depends on its latency.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut, parts = with_parts(
            *(dut, platform, (coder, landing), PARTS),
            {"Counter": PlainCounter, "RepeatCoder": AnyRepeats},
        )
        line, survey, planner, counter, repeats, order, placer, assembler, _ = (
            parts[name] for name in PARTS
        )
        enters = offer(m, dut.i, "i")
        m.d.comb += dut.o.ready.eq(anything(m, 1, "o_ready"))
        plans = planner.i.valid & planner.i.ready
        leaves = planner.o.valid & planner.o.ready
        sends = counter.o.valid & counter.o.ready
        issues = assembler.ready & order.has_control
        is_given, is_issued = Signal(name="is_given"), Signal(name="is_issued")
        m.d.sync += [
            is_given.eq((is_given | repeats.valid) & ~leaves),
            is_issued.eq((is_issued | issues) & ~leaves),
        ]
        m.d.comb += [
            Assert((line.i.valid & line.i.ready) == enters),
            Assert(survey.valid == enters),
            Assert(~enters | survey.enable),
            Assert(plans == (survey.o_valid & survey.enable)),
            Cover(survey.o_valid & ~survey.enable),
            # Each plan is issued once, and its repeats are coded once.
            Assert(~issues | (planner.o.valid & ~is_issued)),
            Assert(~leaves | is_issued | issues),
            Assert(~repeats.valid | (planner.o.valid & ~is_given)),
            Assert(~leaves | is_given | repeats.valid),
            # A payload leaves with its beat.
            Assert(sends == (order.has_payload & assembler.ready)),
            Assert(~sends | line.o.valid),
            Assert((line.o.valid & line.o.ready) == sends),
            Assert(~order.has_repeats | (repeats.o.valid & order.has_payload)),
            Assert(~(repeats.o.valid & repeats.o.ready) | sends),
            Cover(sends & issues & order.is_after),
            # Invariants: what is known of the plan at hand.
            Assert(probe(m, "dut.order.is_issued", 1) == is_issued),
            Assert(probe(m, "dut.is_coded", 1) == is_given),
            Assert(planner.o.valid | ~(is_given | is_issued)),
        ]
        self._follow(m, order, counter, placer, assembler)
        return m

    def _follow(self, m, order, counter, placer, assembler):
        """Items up to the assembler, and the words of the packet."""
        config = self.dut.config
        item = _Item(config)
        now, valid = Signal(item, name="item"), Signal(name="item_valid")
        m.d.comb += [
            valid.eq(order.has_control | order.has_payload),
            now.last.eq(order.last),
            now.words.eq(Mux(order.has_payload, counter.o.payload.words, 0)),
        ]
        steps = [(now, valid)]
        for number in range(ControlCoder.latency(config) + ControlRotator.LATENCY):
            kept, is_kept = Signal(item, name=f"step{number}"), Signal(name=f"valid{number}")
            with m.If(assembler.ready):
                m.d.sync += [kept.eq(steps[-1][0]), is_kept.eq(steps[-1][1])]
            steps.append((kept, is_kept))
        (before, is_before), (landed, is_landed) = steps[-2:]
        total, is_first = Signal(COUNT_BITS, name="total"), Signal(name="is_first", init=1)
        with m.If(assembler.ready & is_before):
            m.d.sync += [
                total.eq(Mux(is_first, 0, total) + before.words),
                is_first.eq(before.last),
            ]
        m.d.comb += [
            Assert(assembler.valid == is_landed),
            Assert(assembler.words == total),
            Assert(~is_landed | (assembler.landing.place.last == landed.last)),
            Assert(probe(m, "dut.is_first", 1) == is_first),
        ]
        with m.If(is_landed):
            m.d.comb += [
                Assert(is_first == landed.last),
                Cover(landed.last & (total == 0)),
                Cover(landed.last & (total == config.lanes + 3)),
            ]
        # Invariants: the items in the registers.
        kept = [("placer.appended.valid0", "placer.appended.value0", _Appended(config))]
        kept.append(("placer.placed.valid0", "placer.placed.value0", Place(config)))
        for number in range(ControlCoder.latency(config) - BitPlacer.LATENCY):
            kept.append((f"coded.valid{number}", f"coded.value{number}", Place(config)))
        kept.append(("rotated.valid0", "rotated.value0", Place(config)))
        for (flag, value, layout), (step, is_step) in zip(kept, steps[1:-1], strict=True):
            place = data.View(layout, probe(m, f"dut.{value}", layout.size))
            m.d.comb += Assert(probe(m, f"dut.{flag}", 1) == is_step)
            with m.If(is_step):
                m.d.comb += [Assert(place.last == step.last), Assert(place.words == step.words)]


class _Item(data.StructLayout):
    """What is followed of an item."""

    def __init__(self, config: Config):
        super().__init__({"last": 1, "words": range(config.lanes + 1)})


PROOFS = (
    Proof(
        name="block_coder",
        promise="Beats, plans and items of a coder of repeats pass all parts once, side by side",
        components=(BlockCoder,),
        design=lambda config: FitsItsParts(BlockCoder(config)),
        sizes={"fp32-left": Config("fp32", "left")},
        slow=("fp32-left",),
        depth=2,
        broken=faults(
            Config("fp32", "left"),
            20,
            stuck_at(0, "dut.is_coded"),
            late("dut.placer.placed.value0"),
        ),
    ),
)
