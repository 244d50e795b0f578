"""What a compressor of several types has for each of them: from words to fields and controls."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Beat
from cdma.hdl.zvcplus.compressor.coder import parts_of
from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.counter import PayloadCounter
from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.compressor.order import StreamOrder
from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes, Item
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS


class TypeFront(wiring.Component):
    """Plan the blocks of one type, and give their items when it is their packet's turn.

    Beats are surveyed as they come in; they wait in a line that all types share, whose head comes
    back as ``words``. Blocks are planned and their payloads counted ahead, also while a packet of
    another type has its turn.

    Throughput one beat a cycle. ``item`` is combinational from registers, ``turn``, ``may_follow``
    and ``has_beat``; ``fields`` and ``control`` come from registers, of an item
    two and :meth:`control_latency` cycles with ``enable`` later. All three are zero without an
    item.

    Parameters
    ----------
    config : Config
        Element type.
    size : ByteLanes
        Size of what the types share.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words; ``keep`` by whole words
    has_room : In, the line takes a beat
    enters : Out, there is a beat to go into the line, if that has room
    keep : Out, a bit per byte of the packet
    turn : In, the packet at hand is of this type
    may_follow : In, the packet behind it is of this type too
    enable : In, an item is taken, if there is one; the registers load
    has_beat : In, the line has a beat at its head
    words : In, the words of that beat
    item : Out, :class:`~cdma.hdl.zvcplus.mixed.compressor.records.Item`
    has_payload : Out, the item has the words of the beat
    fields : Out, the bits of its words that are sent, those of each in its lowest
    control : Out, its control and bits of repeats
    """

    i: stream.Interface
    has_room: Signal
    enters: Signal
    keep: Signal
    turn: Signal
    may_follow: Signal
    enable: Signal
    has_beat: Signal
    words: Signal
    item: data.View
    has_payload: Signal
    fields: Signal
    control: Signal

    def __init__(self, config: Config, size: ByteLanes):
        self.config = config
        self.size = size
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                **dict.fromkeys(("has_room", "turn", "may_follow", "enable", "has_beat"), In(1)),
                "enters": Out(1),
                "keep": Out(config.beat_bytes),
                "words": In(config.beat_bits),
                "item": Out(Item(size)),
                "has_payload": Out(1),
                "fields": Out(config.beat_bits),
                "control": Out(config.front_bits),
            }
        )

    @staticmethod
    def control_latency(config: Config) -> int:
        """Cycles from an item to its control."""
        return ControlCoder.latency(config)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        survey_class, planner_class, fields_class = parts_of(config)
        m.submodules.intake = intake = BlockIntake(config)
        m.submodules.survey = survey = survey_class(config)
        m.submodules.planner = planner = planner_class(config)
        m.submodules.counter = counter = PayloadCounter(config)
        m.submodules.order = order = StreamOrder(config, has_turns=True)
        m.submodules.fields = fields = fields_class(config)
        m.submodules.coder = coder = ControlCoder(config)
        # Beats come in and are surveyed for as long as their blocks can be planned.
        can_plan = ~survey.o_valid | planner.i.ready
        word_bytes = config.word.bits // LANE_BITS
        has_payload = order.has_payload & self.turn
        m.d.comb += [
            self.i.ready.eq(self.has_room & can_plan),
            self.enters.eq(self.i.valid & can_plan),
            *(
                self.keep.word_select(lane, word_bytes).eq(bit.replicate(word_bytes))
                for lane, bit in enumerate(intake.keep)
            ),
            intake.accept.eq(self.i.valid & self.i.ready),
            intake.beat.eq(self.i.payload),
            survey.enable.eq(can_plan),
            survey.valid.eq(intake.accept),
            survey.words.eq(self.i.payload.words),
            *(getattr(survey, name).eq(getattr(intake, name)) for name in _SURVEYED),
            planner.i.valid.eq(survey.o_valid),
            planner.i.payload.eq(survey.o),
            order.enable.eq(self.enable & self.turn),
            order.may_follow.eq(self.may_follow),
            order.has_beat.eq(self.has_beat),
            self.has_payload.eq(has_payload),
            fields.enable.eq(self.enable),
            Value.cast(fields.words).eq(self.words),
            fields.mask.eq(Mux(has_payload, order.i_payload.payload.mask, 0)),
            fields.coding.eq(order.i_payload.payload.coding),
            self.fields.eq(Value.cast(fields.fields)),
            coder.enable.eq(self.enable),
            coder.valid.eq(order.has_control & self.turn),
            coder.plan.eq(planner.o.payload),
            self.control.eq(coder.bits),
        ]
        wiring.connect(m, planner.o, order.i_plan)
        wiring.connect(m, order.o_plan, counter.i)
        wiring.connect(m, counter.o, order.i_payload)
        self._give(m, order, self._repeats(m, planner, order, coder))
        return m

    def _repeats(self, m, planner, order, coder):
        """Bits of repeats of an item, in front of its words: their number."""
        if not self.config.has_repeats:
            return 0
        m.submodules.repeats = repeats = RepeatCoder(self.config)
        is_coded = Signal()  # the plan at hand, before the counter takes it
        found = order.i_repeats.payload
        m.d.sync += is_coded.eq(planner.o.valid & ~planner.o.ready)
        m.d.comb += [
            repeats.valid.eq(planner.o.valid & ~is_coded),
            repeats.plan.eq(planner.o.payload),
            coder.repeats.bits.eq(found.bits),
            coder.repeats.count.eq(Mux(order.has_repeats & self.turn, found.count, 0)),
        ]
        wiring.connect(m, repeats.o, order.i_repeats)
        return coder.repeats.count

    def _give(self, m, order, repeats):
        """The item at hand."""
        item, config = self.item, self.config
        payload, bits = order.i_payload.payload, order.i_plan.payload.bits
        word_bytes = config.word.bits // LANE_BITS
        with m.If(self.turn):
            m.d.comb += [
                item.valid.eq(order.has_control | order.has_payload),
                item.control_bits.eq(Mux(order.has_control, bits, 0) + repeats),
                item.is_after.eq(order.is_after),
                item.is_behind.eq(order.is_behind) if config.has_late_controls else [],
                item.last.eq(order.last),
                *(
                    item.behind[lane].eq(payload.behind[lane // word_bytes] + offset)
                    for lane in range(self.size.lanes)
                    for offset in [lane % word_bytes * LANE_BITS]
                ),
            ]
        with m.If(self.has_payload):
            m.d.comb += [item.total.eq(payload.total), item.words.eq(payload.words)]


#: What the survey takes from the intake, beside the words.
_SURVEYED = ("keep", "index", "extent", "end")
