"""The order of the stream: C(0) C(1) P(0) C(2) P(1) ... of each packet, packet behind packet."""

from amaranth.hdl import Assert, Assume, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.order import StreamOrder
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults, swapped

#: Plans that are copied and whose beats are not all issued, at most.
MOST_COPIED = 3


class FollowsTheFormat(Elaboratable):
    """Whatever plans and beats come and when: the items follow the grammar of the stream.

    Plans and payloads come as the neighbours give them: the beats of a block follow the copy of its
    plan, in order, and say whether the block is its packet's last.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        plan, payload = dut.i_plan.payload, dut.i_payload.payload
        copies, sends = take(m, dut.o_plan, "copy"), offer(m, dut.i_payload, "payload")
        leaves = offer(m, dut.i_plan, "plan")
        # Each plan is issued once and copied once before it leaves.
        for name, happens in (("issued", dut.enable & dut.has_control), ("copied", copies)):
            was_done = Signal(name=f"was_{name}")
            m.d.sync += was_done.eq((was_done | happens) & ~leaves)
            m.d.comb += [
                Assert(~happens | (dut.i_plan.valid & ~was_done)),
                Assert(~leaves | was_done | happens),
            ]

        # Plans that are copied: how many, and which of them are final, the first lowest.
        copied, finals = Signal(range(MOST_COPIED + 1)), Signal(MOST_COPIED)
        ends = sends & payload.end
        rest = Signal.like(copied)
        left = Mux(ends, finals >> 1, finals)
        m.d.comb += [
            rest.eq(copied - ends),
            dut.enable.eq(anything(m, 1, "enable")),
            dut.has_beat.eq(anything(m, 1, "has_beat")),
        ]
        m.d.sync += [
            copied.eq(rest + copies),
            finals.eq(left | Mux(copies, plan.extent.last << rest, 0)),
        ]
        m.d.comb += [
            Assume(~dut.o_plan.ready | (copied != MOST_COPIED)),
            Assume(~dut.i_payload.valid | (copied != 0)),
            Assume(~dut.i_payload.valid | (payload.final == finals[0])),
        ]
        if dut.config.has_repeats:
            offer(m, dut.i_repeats, "repeats")
        if dut.has_turns:
            # No control follows in an item when the packet behind is not of this order.
            may_follow = anything(m, 1, "may_follow")
            m.d.comb += [
                dut.may_follow.eq(may_follow),
                Assert(~dut.enable | ~dut.has_control | ~dut.is_after | may_follow),
            ]
        self._check(m, dut, plan, payload, sends)
        return m

    def _check(self, m, dut, plan, payload, sends):
        """The grammar, in terms of the items that are taken."""
        issues = dut.enable & dut.has_control
        # Blocks with their control and not all of their payload in the stream; of the first of
        # them: whether a beat is in the stream, whether it is final; whether the second is.
        opened, is_begun, is_final, is_second_final = Signal(2), Signal(), Signal(), Signal()
        between = Signal()  # with a payload in the same item, the control is in front of it
        is_late = dut.config.has_late_controls
        behind = issues & sends & ~dut.is_after if is_late else Const(0, 1)
        m.d.comb += [
            between.eq(issues & ~dut.is_after & ~behind),
            Assert(sends == (dut.enable & dut.has_payload)),
            Assert(dut.last == (dut.has_payload & payload.end & payload.final)),
        ]
        m.d.comb += [
            # A control comes first in its packet, or directly in front of the block before.
            Assert(~between | (opened == 0) | ((opened == 1) & ~is_begun & ~is_final)),
            # A control behind a payload in the same item begins the next packet.
            Assert(~issues | ~dut.is_after | (sends & dut.last & (opened == 1))),
            # A payload has its control in the stream, and that of the next block.
            Assert(~sends | (opened != 0)),
            Assert(~sends | is_final | (opened + between == 2)),
            Assert(~sends | (payload.final == is_final)),
            Cover(issues & dut.is_after),
        ]
        if is_late:
            # A control behind a payload is directly in front of the block before its own. It does
            # not share an item with bits of repeats.
            m.d.comb += [
                Assert(~behind | (dut.is_behind & payload.end & (opened == 2))),
                Assert(~behind | (~is_final & ~is_second_final)),
                Assert(~issues | ~sends | ~dut.has_repeats),
                Assert(~sends | ~issues | behind | dut.is_after),
                Assert(~dut.is_behind | ~dut.has_repeats),
                Cover(behind),
            ]
        else:
            m.d.comb += Cover(between & sends)
        done = sends & payload.end
        m.d.sync += [
            opened.eq(opened + issues - done),
            is_begun.eq(Mux(sends, ~payload.end, is_begun)),
        ]
        after = Mux(done, opened - 1, opened)  # of them without the control of this cycle
        with m.If(done):
            m.d.sync += is_final.eq(is_second_final)
        with m.If(issues & (after == 0)):
            m.d.sync += is_final.eq(plan.extent.last)
        with m.Elif(issues & (after == 1)):
            m.d.sync += is_second_final.eq(plan.extent.last)


class _Hasty(StreamOrder):
    """An order with turns that does not look at them."""

    def __init__(self, config: Config):
        super().__init__(config, has_turns=True)

    def elaborate(self, platform):
        self.has_turns = False
        return super().elaborate(platform)


SIZES = {"fp32": Config("fp32"), "int8-left": Config("int8", "left")}

PROOFS = (
    Proof(
        name="stream_order",
        promise="Controls and payloads are issued in the order of the format, packet by packet",
        components=(StreamOrder,),
        design=lambda config: FollowsTheFormat(StreamOrder(config)),
        sizes=SIZES,
        slow=("int8-left",),
        mode=PDR,
        depth=3,
        broken=faults(
            SIZES["fp32"],
            12,
            late("dut.is_issued"),
            stuck_at(0, "dut.is_final"),
            stuck_at(1, "dut.follows"),
            stuck_at(0, "dut.is_copied"),
            stuck_at(0, "dut.i_payload__ready"),
        ),
    ),
    Proof(
        name="stream_order_turns",
        promise="With turns too; no control of a packet comes with the one before if it may not",
        components=(StreamOrder,),
        design=lambda config: FollowsTheFormat(StreamOrder(config, has_turns=True)),
        sizes=SIZES,
        slow=("int8-left",),
        mode=PDR,
        depth=3,
        broken=(
            *faults(SIZES["fp32"], 12, late("dut.is_issued")),
            *swapped(12, {"hasty": lambda: FollowsTheFormat(_Hasty(SIZES["fp32"]))}),
        ),
    ),
)
