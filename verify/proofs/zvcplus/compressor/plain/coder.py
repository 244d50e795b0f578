"""The coder of floats without repeats: its parts take the same beats, plans and items."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.plain import coder
from cdma.hdl.zvcplus.compressor.plain.coder import PlainCoder
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults

#: Parts whose ports the model looks at.
PARTS = (
    *("ElasticLine", "StepSurvey", "StepPlanner", "FieldCounter", "EarlyOrder"),
    *("SplitPlacer", "WindowCoder", "BitPacker", "PlainRing"),
)


class FitsItsParts(Elaboratable):
    """Beats that come in go to the line and to the survey at once; no block's statistics are lost
    or planned twice. An item takes the plan and the payload that are there, each once, and with
    what belongs to it: plan, fields and place reach the ring in the same cycle, whatever stalls.
    Behind a packet's last item, the ring has the words of all its beats.

    What the parts do is proven of each; what a stream has for given words, of a packet of a beat.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut, parts = with_parts(dut, platform, (coder,), PARTS)
        line, survey, planner, counter, order, placer, window, network, ring = (
            parts[name] for name in PARTS
        )
        enters, is_due = offer(m, dut.i, "i"), Signal(name="is_due")  # not in the first cycle
        m.d.comb += dut.o.ready.eq(anything(m, 1, "o_ready"))
        plans = planner.i.valid & planner.i.ready
        issues = planner.o.valid & planner.o.ready
        sends = counter.o.valid & counter.o.ready
        # Blocks whose control is issued and whose payload is not.
        names = ("is_none", "is_one", "is_final", "is_two")
        is_none, is_one, is_final, is_two = (probe(m, f"dut.order.{name}", 1) for name in names)
        open_ = is_none + is_one + is_final + is_two
        item, valid = _Item(dut.config), Signal(name="item_valid")
        now = Signal(item, name="item")
        m.d.sync += is_due.eq(1)
        m.d.comb += [
            Assert((line.i.valid & line.i.ready) == enters),
            Assert(survey.valid == enters),
            Assert(~enters | ~is_due | survey.enable.all()),
            Assert(~enters | is_due | survey.enable.any()),
            valid.eq(order.has_front | order.has_after | order.has_payload),
            now.has_control.eq(order.takes),
            now.has_payload.eq(order.has_payload),
            now.is_after.eq(order.has_after),
            now.last.eq(order.last),
            now.words.eq(counter.o.payload.words),
            # Invariants: the ring is ready for all or none; what is issued is there.
            Assert(is_due | ~survey.o_valid),
            Assert(is_due | ~valid),
            Assert(~order.takes | planner.o.valid),
            Assert(~order.has_payload | counter.o.valid),
            Assert(order.takes == (order.has_front | order.has_after)),
            Assert(open_ == 1),
            Assert(~order.has_front | is_none | is_one),
            Assert(~order.has_after | (order.last & is_final)),
            Assert(order.lacks_front == ~order.has_front),
            Assert(~order.last | order.has_payload),
        ]
        with m.If(is_due):
            m.d.comb += [
                *(Assert(each == ring.ready[0]) for each in ring.ready),
                *(Assert(each == order.has_payload) for each in order.sends),
                # The survey goes on when its block is planned.
                Assert(survey.enable.all() == survey.enable.any()),
                Assert(plans == (survey.o_valid & survey.enable[0])),
                # An item is a plan, a payload, or both.
                Assert(issues == (order.takes & ring.ready[0])),
                Assert(sends == (order.has_payload & ring.ready[0])),
                Assert(placer.enable == ring.ready[0]),
                Assert(window.enable == ring.ready[0]),
                Assert(network.enable == ring.ready[0]),
                Cover(survey.o_valid & ~survey.enable[0]),
                Cover(issues & sends & order.has_after),
            ]
        self._follow(m, ring, placer, now, valid)
        return m

    def _follow(self, m, ring, placer, now, valid):
        """The items of the two steps behind, and the words of the packet."""
        dut, item = self.dut, _Item(self.dut.config)
        lanes = dut.config.lanes
        steps = [(now, valid)]
        for step in ("placed", "landed"):
            kept, is_kept = Signal(item, name=step), Signal(name=f"{step}_valid")
            with m.If(ring.ready[0]):
                m.d.sync += [kept.eq(steps[-1][0]), is_kept.eq(steps[-1][1])]
            steps.append((kept, is_kept))
        (placed, is_placed), (landed, is_landed) = steps[1:]
        total, is_first = Signal(COUNT_BITS, name="total"), Signal(name="is_first", init=1)
        before, has_begun = Mux(is_first, 0, total), Signal(name="has_begun")
        with m.If(ring.ready[0] & is_placed & placed.has_payload):
            m.d.sync += [
                total.eq(before + Mux(placed.last, placed.words, lanes)),
                is_first.eq(placed.last),
                has_begun.eq(1),
            ]
        # Invariants: of a packet that has ended, all words; else those of whole beats.
        low = len(placed.words) - 1
        beats = probe(m, "dut.beats.value", COUNT_BITS - low)
        with m.If(has_begun):
            m.d.comb += Assert(beats == total >> low)
        for start in range(1, COUNT_BITS - low, PART_BITS):
            part = beats[start : start + PART_BITS]
            m.d.comb += Assert(probe(m, f"dut.beats.is_full{start}", 1) == part.all())
        heading = probe(m, "dut.coder.has_heading", 1)
        m.d.comb += [
            Assert(is_first | (total[:low] == 0)),
            Assert(has_begun | is_first),
            Assert(~is_landed | ~landed.has_payload | has_begun),
            Assert(~is_landed | ~landed.last | (landed.has_payload & is_first)),
            Assert(~is_placed | ~placed.last | placed.has_payload),
            Assert(placer.next_valid == is_placed),
            Assert(is_placed | ~placer.counts),
            Assert(ring.valid == is_landed),
            Assert(probe(m, "dut.is_first", 1) == is_first),
            Assert(heading == (is_placed & placed.has_control)),
            Assert(~probe(m, "dut.coder.has_body", 1) | heading),
        ]
        with m.If(is_placed):
            m.d.comb += [
                Assert(placer.counts == placed.has_payload),
                Assert(placer.next.last == placed.last),
                Assert(placer.next.is_after == placed.is_after),
                Assert(placer.next.words == placed.words),
            ]
        with m.If(is_landed):
            m.d.comb += [
                # Bits of a control come with its item, and with no other.
                Assert(ring.heading.at.any() == landed.has_control),
                Assert(landed.has_control | ~ring.body.at.any()),
                Assert(ring.landing.last == landed.last),
                Assert(ring.landing.is_after == landed.is_after),
            ]
        with m.If(is_landed & landed.last):
            m.d.comb += [
                Assert(is_first),
                Assert(ring.words == total),
                Cover(total == lanes + 3),
                Cover(total == 0),
            ]


class _Item(data.StructLayout):
    """What an item has."""

    def __init__(self, config: Config):
        flags = dict.fromkeys(("has_control", "has_payload", "is_after", "last"), 1)
        super().__init__(flags | {"words": range(config.lanes + 1)})


PROOFS = (
    Proof(
        name="plain_coder",
        promise="Beats, plans and items of a coder of floats pass all parts once, and side by side",
        components=(PlainCoder,),
        design=lambda name: FitsItsParts(PlainCoder(Config(name))),
        sizes={"fp32": "fp32"},
        depth=2,
        broken=faults(
            "fp32",
            16,
            late("dut.rest"),
            late("dut.order.takes"),
            stuck_at(0, "dut.counts"),
        ),
    ),
)
