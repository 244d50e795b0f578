"""Packets of words become rows of their stream, of all types and with repeats."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.assembler import BitAssembler
from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.counter import PayloadCounter
from cdma.hdl.zvcplus.compressor.fields import FloatFields, IntFields
from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.compressor.landing import land_items
from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.hdl.zvcplus.compressor.order import StreamOrder
from cdma.hdl.zvcplus.compressor.place import BitPlacer
from cdma.hdl.zvcplus.compressor.planner.floats import FloatPlanner
from cdma.hdl.zvcplus.compressor.planner.integers import IntPlanner
from cdma.hdl.zvcplus.compressor.records import BitRow
from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.compressor.rows import RowCoder
from cdma.hdl.zvcplus.compressor.survey.floats import FloatSurvey
from cdma.hdl.zvcplus.compressor.survey.integers import IntSurvey
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.network import BitPacker


class BlockCoder(RowCoder):
    """Turn packets of words into rows of their ZVC+ stream, for all types and with repeats.

    Beats wait until their block and the block behind are planned. Then each beat is issued, with
    the control of the next block if it is the first of its block. Fields and controls get their
    places, a network of bits brings the fields there, and the assembler makes rows of both.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its bits over 256. Packets of one or two beats take three cycles, with repeats
    four. Latency see :meth:`latency`. No path runs from ``o.ready`` to ``i.ready``, or from ``i``
    to ``o``, in a cycle; ``o`` comes from registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    As of :class:`~cdma.hdl.zvcplus.compressor.rows.RowCoder`.
    """

    @staticmethod
    def rows(config: Config) -> int:
        """Beats that wait: of their block and of the next, and while that is planned."""
        survey, planner, _ = parts_of(config)
        planning = survey.latency(config) + planner.LATENCY
        # Bits of repeats come later than the payload is counted.
        late = RepeatCoder.latency(config) - PayloadCounter.LATENCY if config.has_repeats else 0
        return 2 * config.block_beats - 1 + planning + late + config.has_late_controls

    @staticmethod
    def latency(config: Config) -> int:
        """The most by which packets take longer than their beats: a packet's last beat waits for
        its plan and for the beats of the block before, gets its place, passes the network, the
        assembler and the queue of rows. One more row may follow."""
        return BlockCoder.rows(config) + placing(config) + 1 + 2

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.intake = intake = BlockIntake(config)
        m.submodules.line = line = ElasticLine(intake.words.shape(), self.rows(config))
        survey_class, planner_class, _ = parts_of(config)
        m.submodules.survey = survey = survey_class(config)
        m.submodules.planner = planner = planner_class(config)
        m.submodules.counter = counter = PayloadCounter(config)
        m.submodules.order = order = StreamOrder(config)
        m.submodules.assembler = assembler = BitAssembler(config)
        m.submodules.queue = queue = Queue(BitRow(config, COUNT_BITS), 2)
        # Beats come in and are surveyed for as long as their blocks can be planned.
        can_plan = ~survey.o_valid | planner.i.ready
        m.d.comb += [
            self.i.ready.eq(line.i.ready & can_plan),
            line.i.valid.eq(self.i.valid & can_plan),
            line.i.payload.eq(intake.words),
            line.o.ready.eq(counter.o.ready),
            intake.accept.eq(self.i.valid & self.i.ready),
            intake.beat.eq(self.i.payload),
            survey.enable.eq(can_plan),
            *self._surveyed(intake, survey),
            planner.i.valid.eq(survey.o_valid),
            planner.i.payload.eq(survey.o),
            order.enable.eq(assembler.ready),
            order.has_beat.eq(line.o.valid),
        ]
        wiring.connect(m, planner.o, order.i_plan)
        wiring.connect(m, order.o_plan, counter.i)
        wiring.connect(m, counter.o, order.i_payload)
        if config.has_repeats:
            m.submodules.repeats = repeats = RepeatCoder(config)
            is_coded = Signal()  # the plan at hand, before the counter takes it
            m.d.sync += is_coded.eq(planner.o.valid & ~planner.o.ready)
            m.d.comb += [
                repeats.valid.eq(planner.o.valid & ~is_coded),
                repeats.plan.eq(planner.o.payload),
            ]
            wiring.connect(m, repeats.o, order.i_repeats)
        self._place(m, order, line.o.payload, assembler)
        wiring.connect(m, assembler.o, queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m

    def _place(self, m, order, words, assembler):
        """The pipeline from an item to its bits at their places, which enter the assembler."""
        config, enable = self.config, assembler.ready
        plan, payload = order.i_plan.payload, order.i_payload.payload
        m.submodules.placer = placer = BitPlacer(config)
        _, _, fields_class = parts_of(config)
        m.submodules.fields = fields = fields_class(config)
        m.submodules.network = network = BitPacker(config.lanes, config.word.bits)
        m.submodules.coder = coder = ControlCoder(config)
        m.submodules.rotator = rotator = ControlRotator(config)
        delay = placing(config) - placer.LATENCY - network.latency(config.lanes, config.word.bits)
        parts = (placer, rotator, assembler)
        for stage in (placer, fields, network, coder, rotator):
            m.d.comb += stage.enable.eq(enable)
        sent = Mux(order.has_payload, payload.mask, 0)
        repeats = self._repeats(m, order, coder)
        m.d.comb += [
            placer.valid.eq(order.has_control | order.has_payload),
            placer.control_bits.eq(Mux(order.has_control, plan.bits, 0) + repeats),
            placer.is_after.eq(order.is_after),
            placer.is_behind.eq(order.is_behind) if config.has_late_controls else [],
            placer.total.eq(Mux(order.has_payload, payload.total, 0)),
            placer.behind.eq(payload.behind),
            placer.words.eq(Mux(order.has_payload, payload.words, 0)),
            placer.last.eq(order.last),
            fields.words.eq(words),
            fields.mask.eq(sent),
            fields.coding.eq(payload.coding),
            network.words.eq(fields.fields),
            network.starts.eq(placer.starts),
            coder.valid.eq(order.has_control),
            coder.plan.eq(plan),
            rotator.control.eq(coder.bits),
            land_items(m, config, enable, parts, network.bits, delay, coder.latency(config)),
        ]

    def _repeats(self, m, order, coder):
        """Bits of repeats of an item, in front of its words: their number."""
        if not self.config.has_repeats:
            return 0
        repeats = order.i_repeats.payload
        m.d.comb += [
            coder.repeats.bits.eq(repeats.bits),
            coder.repeats.count.eq(Mux(order.has_repeats, repeats.count, 0)),
        ]
        return coder.repeats.count


def parts_of(config: Config) -> tuple[type, type, type]:
    """Survey, planner and fields of an element type."""
    if config.word.is_float:
        return FloatSurvey, FloatPlanner, FloatFields
    return IntSurvey, IntPlanner, IntFields


def placing(config: Config) -> int:
    """Cycles from an item to its bits in the assembler, the later of payload and control."""
    network = BitPacker.latency(config.lanes, config.word.bits)
    control = ControlCoder.latency(config) + ControlRotator.LATENCY
    return max(BitPlacer.LATENCY + network + 1, control)
