"""The bits of a control."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.signals import wire
from cdma.hdl.zvc.network import Compactor, routes
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
    Coding,
    Groups,
    RepeatBits,
)
from cdma.hdl.zvcplus.config import WIDTH_BITS, Config


class ControlCoder(wiring.Component):
    """Code the control of a block: close the gaps between its nibbles, and put the fields together.

    Throughput one control a cycle, latency :meth:`latency` cycles; the output is registered. All
    bits behind the control are zero.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a control
    plan : In, :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan` of the block
    repeats : In, with repeats: :class:`~cdma.hdl.zvcplus.compressor.records.RepeatBits` of another
        block, behind the control; none if ``count`` is 0
    bits : Out, the control and the bits of repeats; zero without
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
                **({"repeats": In(RepeatBits(config))} if config.has_repeats else {}),
                "bits": Out(config.front_bits),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the plan to the bits."""
        return Compactor.latency(config.word.flags) + 1

    def elaborate(self, platform):
        m = Module()
        plan, word = self.plan, self.config.word
        flags = word.flags
        m.submodules.prefix = prefix = PrefixSum(flags, most=flags)  # combinational
        m.submodules.network = network = Compactor(flags, 4)
        m.submodules.beside = beside = DelayLine(_Heading(self.config), network.latency(flags))
        m.d.comb += [
            prefix.enable.eq(1),
            prefix.mask.eq(plan.flags),
            network.enable.eq(self.enable),
            network.words.eq(plan.nibbles),
            network.routes.eq(routes(m, prefix.ranks, Const(0, flags.bit_length() - 1))),
            beside.enable.eq(self.enable),
            beside.i_valid.eq(self.valid),
            beside.i.kind.eq(plan.kind),
            beside.i.code.eq(plan.d if word.is_float else plan.groups),
            beside.i.coding.eq(plan.coding),
            beside.i.flags.eq(plan.flags),
        ]
        result = Signal.like(self.bits, reset_less=True)
        # Nibbles that are not sent are zero, so that only zeros follow those that are.
        bits = self._assembled(beside.o, network.bank_words.as_value())
        bits = Mux(beside.o_valid, bits, 0)
        if self.config.has_repeats:
            bits = bits | self._appended(m)
            m.d.comb += beside.i.has_repeats.eq(plan.has_repeats)
        with m.If(self.enable):
            m.d.sync += result.eq(bits)
        m.d.comb += self.bits.eq(result)
        return m

    def _appended(self, m):
        """The last field of the control, and bits of repeats of the other block, at their place
        behind the nibbles; as late as these."""
        word, plan, repeats = self.config.word, self.plan, self.repeats
        has_count = self.valid & plan.has_repeats
        at = Mux(self.valid, plan.bits - Mux(has_count, word.count_bits, 0), 0)
        sent = Mux(repeats.count == 0, 0, repeats.bits)
        bits = Mux(has_count, Cat(plan.count, sent), sent)
        levels, stages = len(plan.bits), Compactor.latency(word.flags)
        size, at = self.config.front_bits, at[:levels]
        for stage in range(stages):
            for level in range(stage * levels // stages, (stage + 1) * levels // stages):
                moved = Mux(at[level], Cat(Const(0, 1 << level), bits), bits)[:size]
                bits = wire(m, moved, f"moved{level}")
            late = Signal(len(bits), name=f"appended{stage}", reset_less=True)
            late_at = Signal(levels, name=f"appended_at{stage}", reset_less=True)
            with m.If(self.enable):
                m.d.sync += [late.eq(bits), late_at.eq(at)]
            bits, at = late, late_at
        return bits

    def _assembled(self, heading, nibbles):
        """The fields of a control, one behind the other."""
        kind, coding, code = heading.kind, heading.coding, heading.code
        has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
        if self.config.word.is_float:
            is_wide = coding.is_wide
            bits = Mux(code == SENT, Cat(coding.base, nibbles), nibbles)
            bits = Mux(has_flags, Cat(heading.flags, bits), bits)
            bits = Cat(code, coding.k, bits)
            if self.config.has_repeats:
                bits = Cat(heading.has_repeats, bits)
        else:
            is_wide = code.is_wide
            bits = Mux(has_flags, Cat(heading.flags, nibbles), nibbles)
            widths = [(width - is_wide)[:WIDTH_BITS] for width in code.widths]
            bits = Mux(code.half, Cat(*widths, bits), Cat(*widths[::2], bits))
            bits = Cat(code.half, bits)
            if self.config.has_repeats:
                bits = Cat(heading.has_repeats, bits)
        extended = Cat(Const(3, 2), extension_of(kind, is_wide), bits)
        coded = Mux(has_flags & ~is_wide, Cat(kind[:2], bits), extended)
        has_none = (kind == ALL_ZERO) | (kind == NOTHING)
        return Mux(has_none, 0, Mux(kind == RAW, 3, coded))


def extension_of(kind, is_wide):
    """The field that tells kinds with mode 3 apart; modes 1 and 2 have none."""
    narrow = {RAW_MASK: 1, DENSE: 2}
    wide = {DIFFERENCES: 4, RAW_MASK: 5, DENSE: 6, AS_IS: 7}
    extension = Const(0, 3)
    for table, is_here in ((narrow, ~is_wide), (wide, is_wide)):
        for each, number in table.items():
            extension = Mux(is_here & (kind == each), number, extension)
    return extension


class _Heading(data.StructLayout):
    """What a control has beside its nibbles."""

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "kind": 3,
                "code": 3 if word.is_float else Groups(config),
                "coding": Coding(config),
                "flags": word.flags,
                **({"has_repeats": 1} if config.has_repeats else {}),
            }
        )
