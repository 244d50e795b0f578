"""The front of one of several types: beats and plans pass its parts, and items have their turn."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Value

from cdma.hdl.zvcplus.compressor import coder
from cdma.hdl.zvcplus.compressor.coder import parts_of
from cdma.hdl.zvcplus.mixed.compressor import front
from cdma.hdl.zvcplus.mixed.compressor.front import TypeFront
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import leave_open, offer
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.plans import AnyRepeats, follow_plans, names_of


class GivesItemsInItsTurn(Elaboratable):
    """Beats enter the line and the survey at once, and plans pass as :func:`follow_plans` says.
    Only with its turn does the front give anything: an item with the control and the payload that
    the order issues, to each part at once. Each byte has its place behind the first of its word.

    What the parts do is proven of each.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.dut.config
        names = (*names_of(config), "ControlCoder", parts_of(config)[2].__name__)
        m.submodules.dut, parts = with_parts(
            *(dut, platform, (front, coder), names), {"RepeatCoder": AnyRepeats}
        )
        *_, controls, fields = (parts[name] for name in names)
        counter, order, planner = (
            parts[name] for name in ("PayloadCounter", "StreamOrder", names[1])
        )
        leave_open(m, dut, "has_room", "turn", "may_follow", "enable", "has_beat", "words")
        enters = offer(m, dut.i, "i")
        item, moves = dut.item, dut.turn & dut.enable
        sends = follow_plans(m, config, parts, enters, moves)
        has_control, has_payload = order.has_control & dut.turn, order.has_payload & dut.turn
        payload = counter.o.payload
        repeats = controls.repeats.count if config.has_repeats else 0
        m.d.comb += [
            Assert((dut.enters & dut.has_room) == enters),
            # A payload leaves with its beat.
            Assert(dut.has_payload == has_payload),
            Assert((dut.has_payload & dut.enable) == sends),
            Assert(~sends | dut.has_beat),
            # Items: nothing without a turn.
            Assert(dut.turn | (item.as_value() == 0)),
            Assert(item.valid == (has_control | has_payload)),
            Assert(item.control_bits == Mux(has_control, planner.o.payload.bits, 0) + repeats),
            Assert(item.total == Mux(has_payload, payload.total, 0)),
            Assert(item.words == Mux(has_payload, payload.words, 0)),
            Assert(item.last == (order.last & dut.turn)),
            # What makes fields and controls of it has the same.
            Assert(fields.enable == dut.enable),
            Assert(controls.enable == dut.enable),
            Assert(controls.valid == has_control),
            Assert(has_payload | (fields.mask == 0)),
            Assert(~has_payload | (fields.mask == payload.mask)),
            Assert(Value.cast(fields.words) == dut.words),
            Cover(has_control & ~has_payload),
            Cover(order.has_payload & ~dut.turn),
        ]
        if config.has_repeats:
            m.d.comb += [
                Assert((has_payload & order.has_repeats) | (repeats == 0)),
                Cover(repeats != 0),
            ]
        word_bytes = config.word.bits // LANE_BITS
        for lane, place in enumerate(item.behind):
            inside = LANE_BITS * (lane % word_bytes)
            expected = (payload.behind[lane // word_bytes] + inside)[: len(place)]
            m.d.comb += Assert(~dut.turn | (place == expected))
        return m


def _sized(type_, *others, repeats="none"):
    config = MixedConfig.of_types((type_, *others), repeats)
    (part,) = (part for part in config.parts.values() if part.type == type_)
    return part, ByteLanes.of(config)


SIZES = {
    "bf16 beside fp32": _sized("bf16", "fp32"),
    "int8 beside fp32, left": _sized("int8", "fp32", repeats="left"),
    "fp32 beside int8, left": _sized("fp32", "int8", repeats="left"),
}
PROOFS = (
    Proof(
        name="type_front",
        promise="Beats and plans of a type pass all parts once, and its items come in its turn",
        components=(TypeFront,),
        design=lambda size: GivesItemsInItsTurn(TypeFront(*size)),
        sizes=SIZES,
        slow=("int8 beside fp32, left", "fp32 beside int8, left"),
        depth=2,
        broken=faults(
            SIZES["bf16 beside fp32"],
            20,
            late("dut.item", 0),
            stuck_at(0, "dut.order.is_issued"),
            stuck_at(1, "dut.has_payload"),
        ),
    ),
)
