"""Controls in two windows: any place of two rows has the bit of the field that lies there."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Module, Signal

from cdma.hdl.zvcplus.compressor.plain.control import WindowCoder
from cdma.hdl.zvcplus.compressor.plain.place import LOW
from cdma.hdl.zvcplus.compressor.plain.records import WINDOW_WORD
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, DENSE, NOTHING, RAW_MASK
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.control import CodesControls, Writer
from cdma.verify.proofs.zvcplus.places import delayed

#: Bits of a distance from a control's first bit that can be in the control.
DISTANCE_BITS = 7


class CodesWindows(CodesControls):
    """Both windows together have the control at its place, and zeros elsewhere."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        plan, config = dut.plan, dut.config
        word = config.word
        leave_open(m, dut, "enable", "valid", "plan")
        at, place, behind = anything(m, 8, "at"), Signal(9), Signal(10)
        high = Signal(8 - LOW, name="high")
        m.d.comb += [
            place.eq(AnyConst(len(place))),
            behind.eq(place - at),
            high.eq(at[LOW:]),
            dut.at_low.eq(at[:LOW]),
        ]
        late_high, _ = delayed(m, dut.enable, high, 1)
        m.d.comb += dut.at_high.eq(late_high)
        # A group without a flag has no nibble, and a mask as it is has them all.
        for group in range(word.flags):
            nibble = plan.nibbles.word_select(group, 4)
            m.d.comb += Assume(plan.flags[group] | (nibble == 0))
        has_none = (plan.kind == ALL_ZERO) | (plan.kind == NOTHING)
        m.d.comb += [
            Assume(plan.kind <= NOTHING),
            Assume((plan.kind != DENSE) | (plan.flags == 0)),
            Assume((plan.kind != RAW_MASK) | plan.flags.all()),
            Assume(~has_none | (plan.nibbles == 0)),
        ]
        writer = Writer(m, behind[:DISTANCE_BITS])
        self._write(m, writer)
        due = Signal(name="due")
        m.d.comb += due.eq(writer.bit & dut.valid & (behind[DISTANCE_BITS:] == 0))
        late_bit, known = delayed(m, dut.enable, due, dut.LATENCY)
        shown = shown_at(dut.heading, place) | shown_at(dut.body, place)
        with m.If(known):
            m.d.comb += [Assert(shown == late_bit), Cover(late_bit & (place == 270))]
        return m


def shown_at(window, place):
    """The bit of a window at a place of two rows."""
    found = 0
    for part, is_here in enumerate(window.at):
        behind = (place - WINDOW_WORD * part)[:10]
        bit = window.bits.bit_select(behind[:7], 1)
        found = found | (is_here & (behind < len(window.bits)) & bit)
    return found


PROOFS = (
    Proof(
        name="window_coder",
        promise="Both windows of a control have the fields of its plan at their places",
        components=(WindowCoder,),
        design=lambda name: CodesWindows(WindowCoder(Config(name))),
        sizes={name: name for name in ("fp32", "bf16")},
        slow=("fp32", "bf16"),
        depth=4,
        broken=faults(
            "fp32",
            7,
            late("dut.has_body"),
            stuck_at(0, "dut.heading", 5),
            inverted("dut.body_low", 1),
        ),
    ),
)
