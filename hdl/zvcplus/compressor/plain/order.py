"""The order of controls and payloads in the stream."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import duplicates
from cdma.hdl.zvcplus.config import Config


class EarlyOrder(wiring.Component):
    """Issue controls and payloads in the order C(0) C(1) P(0) C(2) P(1) ...

    An item is a control, the payload of a beat, or both. The control of the next block goes with
    the first beat of a block, so that a block of four beats takes four cycles. The first control of
    a packet goes with the last beat of the packet before, behind it, if it is there by then.

    What the item of a cycle has is decided in the cycle before: from the plan and the payload that
    will be there if the item before leaves, and stay otherwise. Throughput one item a cycle; all
    outputs are registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the item leaves, if there is one
    plan_last : In, the block of the plan at hand is its packet's last
    next_plan : In, there is a plan in the next cycle
    payload_end : In, the payload at hand ends its block
    next_payload, next_end : In, there is a payload in the next cycle, and it ends its block
    has_front : Out, the item has the control at hand, in front
    lacks_front : Out, it does not; as a register of its own, to divide the fan-out
    has_after : Out, the item has the control at hand, which begins the next packet, behind the
        payload
    has_payload : Out, the item has the payload at hand
    last : Out, the packet ends with the item
    takes : Out, the item has the control at hand
    sends : Out, array of ``has_payload`` twice, but anything in the first cycle: to divide its
        fan-out
    """

    enable: Signal
    plan_last: Signal
    next_plan: Signal
    payload_end: Signal
    next_payload: Signal
    next_end: Signal
    has_front: Signal
    lacks_front: Signal
    has_after: Signal
    has_payload: Signal
    last: Signal
    takes: Signal
    sends: Signal

    def __init__(self, config: Config):
        self.config = config
        inputs = ("enable", "plan_last", "next_plan", "payload_end", "next_payload", "next_end")
        outputs = ("has_front", "has_after", "has_payload", "last", "takes")
        super().__init__(
            dict.fromkeys(inputs, In(1))
            | dict.fromkeys(outputs, Out(1))
            | {"lacks_front": Out(1, init=1), "sends": Out(2)}
        )

    def elaborate(self, platform):
        m = Module()
        # Blocks whose control is issued and whose payload is not: none, one, one that is its
        # packet's last, or two. The payload of one waits for the control of the next.
        names = ("is_none", "is_one", "is_final", "is_two")
        is_none, is_one, is_final, is_two = (
            Signal(name=name, init=name == "is_none") for name in names
        )
        states = {name: Signal(name=f"next_{name}") for name in names}
        is_second_final = Signal()
        issues, ends, begins = Signal(), Signal(), Signal()
        is_last, goes_on = self.plan_last, Signal()
        m.d.comb += [
            issues.eq(self.enable & self.takes),
            ends.eq(self.enable & self.has_payload & self.payload_end),
            # The only block ahead is then that of the control.
            begins.eq(issues & (is_none | is_final | ends)),
            goes_on.eq(is_two & ends),
            states["is_none"].eq((is_none | (is_final & ends)) & ~issues),
            states["is_one"].eq(
                (is_one & ~issues) | (begins & ~is_last) | (goes_on & ~is_second_final)
            ),
            states["is_final"].eq(
                (is_final & ~ends) | (begins & is_last) | (goes_on & is_second_final)
            ),
            states["is_two"].eq((is_two | (is_one & issues)) & ~ends),
        ]
        m.d.sync += [
            *(each.eq(states[each.name]) for each in (is_none, is_one, is_final, is_two)),
            is_second_final.eq(states["is_two"] & (is_second_final | (is_one & is_last))),
        ]
        next_last = self.next_payload & states["is_final"] & self.next_end
        is_open = states["is_two"] | states["is_final"] | (states["is_one"] & self.next_plan)
        first, has_payload, second = duplicates(m, self.next_payload & is_open, "has_payload")
        m.d.comb += [self.has_payload.eq(has_payload), self.sends.eq(Cat(first, second))]
        is_free = states["is_none"] | states["is_one"]
        m.d.sync += [
            self.last.eq(next_last),
            self.has_front.eq(self.next_plan & is_free),
            self.lacks_front.eq(~(self.next_plan & is_free)),
            self.has_after.eq(self.next_plan & next_last),
            self.takes.eq(self.next_plan & (is_free | next_last)),
        ]
        return m
