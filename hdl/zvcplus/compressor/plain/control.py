"""The bits of a control, at their place in a part of a row."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.signals import duplicates, wire
from cdma.hdl.zvc.network import compact, crossing_of, levels_of, routes, switched
from cdma.hdl.zvcplus.compressor.control import extension_of
from cdma.hdl.zvcplus.compressor.plain.place import HIGH, LOW
from cdma.hdl.zvcplus.compressor.plain.records import (
    WINDOW_WORD,
    BlockPlan,
    Window,
    body_window,
    heading_window,
)
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    AS_IS,
    DIFFERENCES,
    NOTHING,
    RAW,
    SENT,
)
from cdma.hdl.zvcplus.config import Config


class WindowCoder(wiring.Component):
    """Code the control of a block in two parts: what is in front of its mask, and the rest.

    In the first cycle the fields of the heading are put together, and all but the last level of a
    network closes the gaps between nibbles; in the second, both parts come to their places.

    Throughput one control a cycle, latency :attr:`LATENCY` cycles; the outputs are registered. All
    bits of a window beside the control are zero.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a control
    plan : In, :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockPlan` of the block
    at_low, at_high : In, place of the control in its row: the lowest bits with the plan, the others
        a cycle later
    heading, body : Out, :class:`~cdma.hdl.zvcplus.compressor.plain.records.Window`: both parts,
        in no part of a row without a control
    """

    #: Cycles from the plan to the control.
    LATENCY = 2

    enable: Signal
    valid: Signal
    plan: data.View
    at_low: Signal
    at_high: Signal
    heading: data.View
    body: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "plan": In(BlockPlan(config)),
                "at_low": In(LOW),
                "at_high": In(HIGH),
                "heading": Out(Window(*heading_window(config))),
                "body": Out(Window(*body_window(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        heading = Signal(config.heading_bits, reset_less=True)
        length = Signal(range(config.heading_bits + 1))
        at_low, body_low = Signal(LOW, reset_less=True), Signal(LOW + 1, reset_less=True)
        above = Signal(len(length) - LOW, reset_less=True)
        bits, size = self._heading()
        body_start = Signal(LOW + 1)
        has_heading, has_body = Signal(), Signal()  # of a raw block, the mask is not sent
        with m.If(self.enable):
            m.d.sync += [
                heading.eq(bits),
                has_heading.eq(self.valid),
                has_body.eq(self.valid & (self.plan.kind != RAW)),
                at_low.eq(self.at_low),
                body_low.eq(body_start),
                above.eq(length[LOW:]),
            ]
        body_high = Signal(HIGH + 1)
        m.d.comb += [
            length.eq(size),
            body_start.eq(self.at_low + length[:LOW]),
            body_high.eq(self.at_high + above + body_low[LOW]),
        ]
        self._place(m, has_heading, heading, Cat(at_low, self.at_high), self.heading)
        # The body goes through one level more, so that it is shifted by copies of the lowest bit.
        lowest = duplicates(m, body_start[0], "body_lowest", enable=self.enable)
        body, share = self._body(m), -(-(config.body_bits + 1) // len(lowest))
        moved = Cat(Const(0, 1), body)
        body = Cat(
            Mux(lowest[bit // share], moved[bit], body[bit] if bit < len(body) else 0)
            for bit in range(len(moved))
        )
        at = Cat(body_low[:LOW], body_high)
        self._place(m, has_body, body, at, self.body, passed=1)
        return m

    def _place(self, m, has_bits, bits, at, port, passed=0):
        """Bits at their place in a part of a row, in registers; some levels are passed before."""
        levels, name = WINDOW_WORD.bit_length() - 1, port.as_value().name
        for level in range(passed, levels):
            moved = Mux(at[level], Cat(Const(0, 1 << level), bits), bits)
            bits = wire(m, moved, f"{name}_moved{level}")
        window = Signal(port.shape(), name=f"{name}_window", reset_less=True)
        with m.If(self.enable):
            m.d.sync += [
                window.bits.eq(bits),
                window.at.eq(Cat((at[levels:] == part) & has_bits for part in range(len(port.at)))),
            ]
        m.d.comb += Value.cast(port).eq(Value.cast(window))

    def _body(self, m):
        """The nibbles that are sent, without gaps: the last level behind a register."""
        plan, flags = self.plan, self.config.word.flags
        m.submodules.prefix = prefix = PrefixSum(flags, most=flags)  # combinational
        m.d.comb += [prefix.enable.eq(1), prefix.mask.eq(plan.flags)]
        starts = routes(m, prefix.ranks, Const(0, flags.bit_length() - 1))
        # Nibbles that are not sent are zero, so that only zeros follow those that are.
        nibbles = [plan.nibbles.word_select(group, 4) for group in range(flags)]
        last = levels_of(flags) - 1
        nibbles = compact(m, nibbles, starts, range(last))
        crossing = crossing_of(m, starts, last)
        held = Signal(4 * flags, name="nibbles", reset_less=True)
        held_crossing = Signal(flags, name="crossing", reset_less=True)
        with m.If(self.enable):
            m.d.sync += [held.eq(Cat(*nibbles)), held_crossing.eq(Cat(crossing))]
        nibbles = [held.word_select(group, 4) for group in range(flags)]
        return Cat(*switched(nibbles, held_crossing, last))

    def _heading(self):
        """The fields in front of the mask, one behind the other, and their length."""
        plan, word = self.plan, self.config.word
        kind, coding = plan.kind, plan.coding
        has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
        flags = plan.flags & has_flags.replicate(len(plan.flags))
        is_wide, is_far = coding.is_wide, plan.d == SENT
        base = coding.base & is_far.replicate(word.exponent)
        bits = Cat(plan.d, coding.k, Mux(has_flags, Cat(flags, base), base))
        size = 6 + Mux(is_far, word.exponent, 0)
        extension = extension_of(kind, is_wide)
        is_short = has_flags & ~is_wide
        coded = Mux(is_short, Cat(kind[:2], bits), Cat(Const(3, 2), extension, bits))
        has_none = (kind == ALL_ZERO) | (kind == NOTHING)
        size = size + Mux(is_short, 2, 5) + Mux(has_flags, word.flags, 0)
        return Mux(has_none, 0, Mux(kind == RAW, 3, coded)), size
