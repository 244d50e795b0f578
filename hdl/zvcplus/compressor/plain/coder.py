"""Packets of words become rows of their stream, of floats without repeats."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.hdl.zvcplus.compressor.plain.control import WindowCoder
from cdma.hdl.zvcplus.compressor.plain.counter import FieldCounter
from cdma.hdl.zvcplus.compressor.plain.fields import SplitFields
from cdma.hdl.zvcplus.compressor.plain.order import EarlyOrder
from cdma.hdl.zvcplus.compressor.plain.place import SplitPlacer
from cdma.hdl.zvcplus.compressor.plain.planner.step import StepPlanner
from cdma.hdl.zvcplus.compressor.plain.records import LineBeat
from cdma.hdl.zvcplus.compressor.plain.ring import PlainRing
from cdma.hdl.zvcplus.compressor.plain.survey.step import StepSurvey
from cdma.hdl.zvcplus.compressor.rows import RowCoder
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.network import BitPacker


class PlainCoder(RowCoder):
    """Turn packets of words into rows of their ZVC+ stream, for floats without repeats.

    Beats wait until their block is planned. Then their payload is counted, and each beat is issued,
    with the control of the next block if it is the first of its block. Fields and controls get
    their places while they move there, and a ring of rows takes both. What the next item is, and
    whether the ring takes it, is decided in the cycle before.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its bits over 256. Packets of one or two beats take three cycles. Latency see
    :meth:`latency`. No path runs from ``o.ready`` to ``i.ready``, or from ``i`` to ``o``, in a
    cycle; ``o`` comes from registers, ``o.payload.bits`` through one multiplexer.

    Parameters
    ----------
    config : Config
        Element type, a float without repeats.

    Members
    -------
    As of :class:`~cdma.hdl.zvcplus.compressor.rows.RowCoder`.
    """

    @staticmethod
    def rows(config: Config) -> int:
        """Beats that wait: of their block and of the next, and while that is planned. Some of them
        have left the line."""
        return 2 * config.block_beats - 1 + StepSurvey.LATENCY + StepPlanner.LATENCY

    @staticmethod
    def latency(config: Config) -> int:
        """The most by which packets take longer than their beats: a packet's last beat waits for
        its plan and for the beats of the block before, gets its place, and passes the network and
        the ring. One more row may follow."""
        return PlainCoder.rows(config) + SplitPlacer.LATENCY + 2

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.intake = intake = BlockIntake(config)
        depth = self.rows(config) - FieldCounter.LATENCY
        m.submodules.line = line = ElasticLine(LineBeat(config), depth)
        m.submodules.survey = survey = StepSurvey(config)
        m.submodules.planner = planner = StepPlanner(config)
        m.submodules.counter = counter = FieldCounter(config)
        m.submodules.order = order = EarlyOrder(config)
        m.submodules.ring = ring = PlainRing(config)
        # Beats come in and are surveyed for as long as their blocks can be planned.
        ready = ring.ready
        enables = [
            ~survey.o_valid | (planner.can_load & (~planner.o.valid | (each & order.takes)))
            for each in ready
        ]
        can_plan = enables[0]
        m.d.comb += [
            self.i.ready.eq(line.i.ready & can_plan),
            line.i.valid.eq(self.i.valid & can_plan),
            line.i.payload.words.eq(self.i.payload.words),
            line.i.payload.mask.eq(survey.mask),
            line.i.payload.end.eq(intake.end),
            intake.accept.eq(self.i.valid & self.i.ready),
            intake.beat.eq(self.i.payload),
            survey.enable.eq(Cat(*enables[1:])),
            *self._surveyed(intake, survey),
            planner.i.valid.eq(survey.o_valid),
            planner.i.payload.eq(survey.o),
            order.enable.eq(ready[0]),
            order.plan_last.eq(planner.o.payload.last),
            order.next_plan.eq(planner.next_valid),
            order.payload_end.eq(counter.o.payload.end),
            order.next_payload.eq(counter.next_valid),
            order.next_end.eq(counter.next_end),
            planner.o.ready.eq(ready[0] & order.takes),
            counter.o.ready.eq(ready[0] & order.sends[0]),
        ]
        wiring.connect(m, line.o, counter.i_beat)
        wiring.connect(m, planner.o_coding, counter.i_coding)
        self._place(m, planner, order, counter, ring)
        wiring.connect(m, ring.o, wiring.flipped(self.o))
        return m

    def _place(self, m, planner, order, counter, ring):
        """The pipeline from an item to its bits at their places, which enter the ring."""
        config = self.config
        plan, payload = planner.o.payload, counter.o.payload
        m.submodules.placer = placer = SplitPlacer(config)
        m.submodules.fields = fields = SplitFields(config)
        m.submodules.network = network = BitPacker(config.lanes, config.word.bits)
        m.submodules.coder = coder = WindowCoder(config)
        beat = counter.beat
        m.d.comb += [
            placer.enable.eq(ring.ready[1]),
            coder.enable.eq(ring.ready[1]),
            network.enable.eq(ring.ready[2]),
            placer.has_front.eq(order.has_front),
            placer.lacks_front.eq(order.lacks_front),
            placer.has_after.eq(order.has_after),
            placer.has_payload.eq(order.has_payload),
            placer.control_bits.eq(plan.bits),
            placer.total.eq(payload.total),
            placer.behind.eq(payload.behind),
            placer.words.eq(payload.words),
            placer.last.eq(order.last),
            fields.load.eq(counter.loads),
            fields.advance.eq(ring.ready[2]),
            fields.sends.eq(order.sends[1]),
            fields.words.eq(beat.words),
            fields.mask.eq(beat.mask),
            fields.coding.eq(beat.coding),
            network.words.eq(fields.fields),
            network.starts.eq(placer.starts),
            coder.valid.eq(order.takes),
            coder.plan.eq(plan),
            coder.at_low.eq(placer.at_low),
            coder.at_high.eq(placer.at_high),
            ring.next_valid.eq(placer.next_valid),
            ring.next.eq(placer.next),
            ring.next_passes.eq(placer.next_passes),
            ring.valid.eq(placer.o_valid),
            ring.landing.eq(placer.landing),
            ring.words.eq(self._counted(m, ring.ready[1], placer)),
            ring.payload.eq(network.bits),
            ring.heading.eq(coder.heading),
            ring.body.eq(coder.body),
        ]

    def _counted(self, m, enable, placer):
        """Words of the packet up to the item that enters the ring."""
        low_bits = len(placer.words) - 1
        m.submodules.beats = beats = Counter(COUNT_BITS - low_bits, 1, for_cells=True)
        is_first, rest = Signal(init=1), Signal(low_bits, reset_less=True)
        counts, item = enable & placer.counts, placer.next
        with m.If(counts):
            m.d.sync += [is_first.eq(item.last), rest.eq(item.words)]
        m.d.comb += [
            beats.enable.eq(counts),
            beats.restart.eq(is_first),
            # Only the last beat of a packet may have fewer words.
            beats.step.eq(~item.last | item.words[-1]),
        ]
        return Cat(rest, beats.value)
