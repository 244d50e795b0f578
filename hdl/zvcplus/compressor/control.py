"""The bits of a control."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.network import Compactor, Routes, routes
from cdma.hdl.zvcplus.compressor.masks import nonzero_nibbles
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    AS_IS,
    DENSE,
    DIFFERENCES,
    NOTHING,
    RAW,
    RAW_MASK,
    SENT,
    BlockPlan,
)
from cdma.hdl.zvcplus.config import Config


class ControlCoder(wiring.Component):
    """Code the control of a block: find the nibbles that are sent, close their gaps, and put the
    fields together.

    Throughput one control a cycle, latency :meth:`latency` cycles; the output is registered. All
    bits behind the control are zero.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a control
    plan : In, :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan` of the block
    bits : Out, the control; zero without one
    """

    enable: Signal
    valid: Signal
    plan: data.View
    bits: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "plan": In(BlockPlan(config)),
                "bits": Out(config.control_bits),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the plan to the bits."""
        flags = config.word.flags
        return 2 + PrefixSum.latency(flags) + Compactor.latency(flags) + 2

    def elaborate(self, platform):
        m = Module()
        flags = self.config.word.flags
        # Mark the nibbles that are sent.
        m.submodules.marked = marked = DelayLine(_Marked(self.config), 1)
        self._mark(m, marked.i)
        # Count them, and close the gaps.
        m.submodules.prefix = prefix = PrefixSum(flags)
        m.submodules.beside = beside = DelayLine(_Marked(self.config), prefix.latency(flags))
        m.submodules.routed = routed = DelayLine(_Routed(self.config), 1)
        m.submodules.network = network = Compactor(flags, 4)
        wait = network.latency(flags)
        m.submodules.wait = waiting = DelayLine(_Heading(self.config), wait)
        m.d.comb += [
            marked.i_valid.eq(self.valid),
            prefix.enable.eq(self.enable),
            prefix.mask.eq(marked.o.marks),
            beside.i_valid.eq(marked.o_valid),
            beside.i.eq(marked.o),
            routed.i_valid.eq(beside.o_valid),
            routed.i.heading.eq(beside.o.heading),
            routed.i.heading.count.eq(prefix.total),
            routed.i.nibbles.eq(beside.o.nibbles),
            routed.i.routes.eq(routes(m, prefix.ranks, Const(0, flags.bit_length() - 1))),
            network.enable.eq(self.enable),
            network.words.eq(routed.o.nibbles),
            network.routes.eq(routed.o.routes),
            waiting.i_valid.eq(routed.o_valid),
            waiting.i.eq(routed.o.heading),
        ]
        # Put the fields together.
        m.submodules.packed = packed = DelayLine(_Packed(self.config), 1)
        sent = thermometer(waiting.o.count, flags)
        m.d.comb += [
            packed.i_valid.eq(waiting.o_valid),
            packed.i.heading.eq(waiting.o),
            packed.i.body.eq(
                Cat(
                    nibble & is_sent.replicate(4)
                    for nibble, is_sent in zip(network.bank_words, sent, strict=True)
                )
            ),
        ]
        for line in (marked, beside, routed, waiting, packed):
            m.d.comb += line.enable.eq(self.enable)
        result = Signal.like(self.bits, reset_less=True)
        with m.If(self.enable):
            m.d.sync += result.eq(Mux(packed.o_valid, self._assembled(packed.o), 0))
        m.d.comb += self.bits.eq(result)
        return m

    def _mark(self, m, marked):
        plan, heading = self.plan, marked.heading
        coded = Signal(self.config.word.block_words)
        is_differences = plan.kind == DIFFERENCES
        has_flags = is_differences | (plan.kind == AS_IS)
        flags = nonzero_nibbles(coded)
        m.d.comb += [
            coded.eq(plan.mask ^ Mux(is_differences, plan.mask << 1, 0)),
            marked.nibbles.eq(coded),
            marked.marks.eq(
                Mux(plan.kind == RAW_MASK, -1, Mux(has_flags, flags, 0))[: len(marked.marks)]
            ),
            heading.kind.eq(plan.kind),
            heading.is_wide.eq(plan.is_wide),
            heading.d.eq(plan.d),
            heading.k.eq(plan.k),
            heading.base.eq(plan.base),
            heading.flags.eq(flags),
        ]

    def _assembled(self, packed):
        """The fields of a control, one behind the other."""
        heading = packed.heading
        kind, is_wide = heading.kind, heading.is_wide
        is_plain = ((kind == DIFFERENCES) | (kind == AS_IS)) & ~is_wide
        has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
        bits = packed.body
        bits = Mux(heading.d == SENT, Cat(heading.base, bits), bits)
        bits = Mux(has_flags, Cat(heading.flags, bits), bits)
        bits = Cat(heading.d, heading.k, bits)
        # Modes 1 and 2, or mode 3 with the extension.
        plain = Cat(kind[:2], bits)
        narrow = {RAW_MASK: 1, DENSE: 2}
        wide = {DIFFERENCES: 4, RAW_MASK: 5, DENSE: 6, AS_IS: 7}
        extension = Const(0, 3)
        for table, is_here in ((narrow, ~is_wide), (wide, is_wide)):
            for each, number in table.items():
                extension = Mux(is_here & (kind == each), number, extension)
        extended = Cat(Const(3, 2), extension, bits)
        has_none = (kind == ALL_ZERO) | (kind == NOTHING)
        coded = Mux(is_plain, plain, extended)
        return Mux(has_none, 0, Mux(kind == RAW, 3, coded))


class _Heading(data.StructLayout):
    """What a control has beside its nibbles."""

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "kind": 3,
                "is_wide": 1,
                "d": 3,
                "k": 3,
                "base": word.exponent,
                "flags": word.flags,
                "count": range(word.flags + 1),
            }
        )


class _Marked(data.StructLayout):
    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {"heading": _Heading(config), "marks": word.flags, "nibbles": word.block_words}
        )


class _Routed(data.StructLayout):
    def __init__(self, config: Config):
        flags = config.word.flags
        super().__init__(
            {
                "heading": _Heading(config),
                "nibbles": data.ArrayLayout(4, flags),
                "routes": Routes(flags),
            }
        )


class _Packed(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"heading": _Heading(config), "body": config.word.block_words})


class ControlRotator(wiring.Component):
    """Rotate a control to its place in a row.

    Throughput one control a cycle, latency :attr:`LATENCY` cycles; the output is registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    control : In, the bits of the control
    at : In, place of its first bit
    bits : Out, a row with the control from place ``at`` on, cyclically, and zeros
    """

    #: Cycles from a control to its row.
    LATENCY = 2

    enable: Signal
    control: Signal
    at: Signal
    bits: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "control": In(config.control_bits),
                "at": In(8),
                "bits": Out(config.beat_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        half = len(self.at) // 2
        spread = len(self.control) + (1 << half) - 1
        near = Signal(spread, reset_less=True)
        upper = Signal(half, reset_less=True)
        row = Signal.like(self.bits, reset_less=True)
        control = self.control
        for level in range(half):
            control = Mux(self.at[level], Cat(Const(0, 1 << level), control), control)
        bits = Cat(near, Const(0, len(row) - spread))
        for level in range(half):
            bits = Mux(upper[level], bits.rotate_left(1 << half + level), bits)
        with m.If(self.enable):
            m.d.sync += [near.eq(control), upper.eq(self.at[half:]), row.eq(bits)]
        m.d.comb += self.bits.eq(row)
        return m
