"""The order of controls and payloads, decided a cycle early: the grammar of the format."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.plain.order import EarlyOrder
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import PDR, Proof, faults


class FollowsTheFormat(Elaboratable):
    """Items are issued in the order C(0) C(1) P(0) C(2) P(1) ..., packet by packet.

    Plans and payloads come at any time, and stay until their item leaves. Nothing is said of the
    time at which they are issued.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        has_plan, has_payload = Signal(name="has_plan"), Signal(name="has_payload")
        last, end = Signal(name="plan_is_last"), Signal(name="payload_is_end")
        issues, sends = Signal(name="issues"), Signal(name="sends")
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            issues.eq(dut.enable & dut.takes),
            sends.eq(dut.enable & dut.has_payload),
            dut.plan_last.eq(last),
            dut.payload_end.eq(end),
        ]
        stays, more = has_plan & ~issues, anything(m, 1, "new_plan")
        waits, follows = has_payload & ~sends, anything(m, 1, "new_payload")
        m.d.comb += [
            dut.next_plan.eq(stays | more),
            dut.next_payload.eq(waits | follows),
            dut.next_end.eq(Mux(waits, end, anything(m, 1, "new_end"))),
        ]
        m.d.sync += [
            has_plan.eq(dut.next_plan),
            has_payload.eq(dut.next_payload),
            last.eq(Mux(stays, last, anything(m, 1, "new_last"))),
            end.eq(dut.next_end),
        ]
        m.d.comb += [
            Assert(~dut.takes | has_plan),
            Assert(~dut.has_payload | has_payload),
            Assert(dut.takes == (dut.has_front | dut.has_after)),
            Assert(~dut.has_front | ~dut.has_after),
            Assert(dut.lacks_front == ~dut.has_front),
            Assert(~dut.has_front | ~dut.last),
        ]
        begun = Signal(name="begun")
        m.d.sync += begun.eq(1)
        with m.If(begun):
            m.d.comb += [
                Assert(dut.sends[0] == dut.has_payload),
                Assert(dut.sends[1] == dut.has_payload),
            ]
        self._check(m, dut, issues, sends, last, end)
        return m

    def _check(self, m, dut, issues, sends, last, end):
        """The grammar, in terms of the items that leave."""
        # Blocks with their control and not all of their payload in the stream; of the first of
        # them: whether a beat is in the stream, whether it is final; whether the second is.
        opened, is_begun, is_final, is_second_final = Signal(2), Signal(), Signal(), Signal()
        between = dut.enable & dut.has_front  # in front of a payload in the same item
        m.d.comb += [
            Assert(dut.last == (dut.has_payload & end & is_final)),
            # A control comes first in its packet, or directly in front of the block before.
            Assert(~between | (opened == 0) | ((opened == 1) & ~is_begun & ~is_final)),
            # A control behind a payload in the same item begins the next packet.
            Assert(~(dut.enable & dut.has_after) | (sends & dut.last & (opened == 1))),
            # A payload has its control in the stream, and that of the next block.
            Assert(~sends | (opened != 0)),
            Assert(~sends | is_final | (opened + between == 2)),
            Cover(issues & dut.has_after),
            Cover(between & sends),
            Cover(sends & (opened == 2) & end),
        ]
        done = sends & end
        after = Mux(done, opened - 1, opened)  # of them without the control of this cycle
        m.d.sync += [
            opened.eq(opened + issues - done),
            is_begun.eq(Mux(sends, ~end, is_begun)),
        ]
        with m.If(done):
            m.d.sync += is_final.eq(is_second_final)
        with m.If(issues & (after == 0)):
            m.d.sync += is_final.eq(last)
        with m.Elif(issues & (after == 1)):
            m.d.sync += is_second_final.eq(last)


PROOFS = (
    Proof(
        name="early_order",
        promise="Controls and payloads are issued in the order of the format, packet by packet",
        components=(EarlyOrder,),
        design=lambda name: FollowsTheFormat(EarlyOrder(Config(name))),
        sizes={"fp32": "fp32"},
        mode=PDR,
        depth=3,
        broken=faults(
            "fp32",
            12,
            late("dut.is_second_final"),
            stuck_at(1, "dut.next_is_none"),
            stuck_at(1, "dut.next_is_two"),
        ),
    ),
)
