"""The order of controls and payloads in the stream."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import BlockPlan, Payload, RepeatBits
from cdma.hdl.zvcplus.config import Config


class StreamOrder(wiring.Component):
    """Issue controls and payloads in the order C(0) C(1) P(0) C(2) P(1) ...

    An item is a control, the payload of a beat, or both. The control of the next block goes with
    the first beat of a block, so that a block of four beats takes four cycles. The first control of
    a packet goes with the last beat of the packet before, behind it, if it is there by then.

    With late controls, a control goes with the last beat of the block before the one before, behind
    it, or alone.

    A plan is copied to ``o_plan``, where its beats are counted, also before its control is issued.
    Combinational but for the state of the order; throughput one item a cycle.

    Parameters
    ----------
    config : Config
        Element type.
    has_turns : bool
        Packets take turns with those of other orders: an input says which control may follow.

    Members
    -------
    enable : In, an item is taken, if there is one
    may_follow : In, with turns: the packet behind the one at hand is of this order too
    i_plan : In stream of :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan`
    o_plan : Out stream of the same plans
    i_payload : In stream of :class:`~cdma.hdl.zvcplus.compressor.records.Payload`
    i_repeats : In stream, with repeats: :class:`~cdma.hdl.zvcplus.compressor.records.RepeatBits` of
        each block, to go with its first beat
    has_beat : In, the words of the payload are there
    has_control : Out, the item has the control of the plan at ``i_plan``
    has_payload : Out, the item has the payload at ``i_payload``
    has_repeats : Out, with repeats: the item has bits of repeats, those at ``i_repeats``
    is_after : Out, the control begins the next packet, behind the payload
    is_behind : Out, with late controls: the control is behind the payload
    last : Out, the packet ends with the item
    """

    enable: Signal
    i_plan: stream.Interface
    o_plan: stream.Interface
    i_payload: stream.Interface
    has_beat: Signal
    has_control: Signal
    has_payload: Signal
    is_after: Signal
    last: Signal

    def __init__(self, config: Config, *, has_turns: bool = False):
        self.config = config
        self.has_turns = has_turns
        repeats = {
            "i_repeats": In(stream.Signature(RepeatBits(config))),
            "has_repeats": Out(1),
        }
        super().__init__(
            {
                **(repeats if config.has_repeats else {}),
                **({"may_follow": In(1)} if has_turns else {}),
                "enable": In(1),
                "i_plan": In(stream.Signature(BlockPlan(config))),
                "o_plan": Out(stream.Signature(BlockPlan(config))),
                "i_payload": In(stream.Signature(Payload(config))),
                "has_beat": In(1),
                "has_control": Out(1),
                "has_payload": Out(1),
                "is_after": Out(1),
                "last": Out(1),
                **({"is_behind": Out(1)} if config.has_late_controls else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, payload = self.i_plan, self.i_payload.payload
        # The plan at hand: its control is issued, it is copied.
        is_issued = Signal()
        is_copied = Signal()
        # Blocks whose control is issued and whose payload is not, and whether the later is final.
        ahead = Signal(2)
        is_final = Signal()
        offers, follows, can_send, issues = (
            Signal(name=name) for name in ("offers", "follows", "can_send", "issues")
        )
        is_alone = (ahead == 1) & is_final
        is_told, has_repeats = self._take_repeats(m)
        late = self.config.has_late_controls
        can_place = self._can_place(m, ahead, is_final, can_send, has_repeats)
        m.d.comb += [
            offers.eq(plan.valid & ~is_issued),
            can_send.eq(self.i_payload.valid & self.has_beat & (ahead != 0) & is_told),
            # The next block's control is in front of the payload.
            follows.eq(ahead[1] | is_final | (Const(0) if late else offers)),
            self.has_payload.eq(can_send & follows),
            self.last.eq(self.has_payload & payload.end & payload.final),
            # Not in an item with bits of repeats: the two have one way to their places.
            self.is_after.eq(is_alone & ~has_repeats),
            self.has_control.eq(offers & can_place),
            self.i_payload.ready.eq(self.enable & self.has_payload),
            issues.eq(self.enable & self.has_control),
            self.o_plan.valid.eq(plan.valid & ~is_copied),
            self.o_plan.payload.eq(plan.payload),
            plan.ready.eq((is_issued | issues) & (is_copied | self.o_plan.ready)),
        ]
        leaves = plan.valid & plan.ready
        m.d.sync += [
            is_issued.eq((is_issued | issues) & ~leaves),
            is_copied.eq((is_copied | (self.o_plan.valid & self.o_plan.ready)) & ~leaves),
            ahead.eq(ahead + issues - (self.i_payload.ready & payload.end)),
            is_final.eq(Mux(issues, plan.payload.extent.last, is_final)),
        ]
        return m

    def _can_place(self, m, ahead, is_final, can_send, has_repeats):
        """Whether the control of the next block can go now."""
        is_alone = (ahead == 1) & is_final
        behind_packet = self.last & ~has_repeats
        if self.has_turns:
            behind_packet = behind_packet & self.may_follow
        if not self.config.has_late_controls:
            return ~ahead[1] & (~is_alone | behind_packet)
        # Alone, unless the packet ends with the block at hand; or, if no bits of repeats are in the
        # item, behind the last beat of the first of two blocks, the second not the packet's last.
        payload = self.i_payload.payload
        m.d.comb += self.is_behind.eq(ahead[1] & ~is_final & ~has_repeats)
        behind_block = can_send & payload.end & self.is_behind
        return Mux(ahead[1], behind_block, ~is_alone | behind_packet)

    def _take_repeats(self, m):
        """Whether the bits of repeats are known, and whether the item has any."""
        if not self.config.has_repeats:
            return Const(1, 1), Const(0, 1)
        is_first = Signal(init=1)  # the next beat begins a block
        with m.If(self.i_payload.ready):
            m.d.sync += is_first.eq(self.i_payload.payload.end)
        m.d.comb += [
            self.i_repeats.ready.eq(self.i_payload.ready & is_first),
            self.has_repeats.eq(self.has_payload & is_first & (self.i_repeats.payload.count != 0)),
        ]
        return ~is_first | self.i_repeats.valid, self.has_repeats
