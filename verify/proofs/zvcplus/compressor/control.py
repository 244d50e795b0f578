"""Controls: the fields of a block's plan, one behind the other."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.compressor.records import (
    ALL_ZERO,
    AS_IS,
    DENSE,
    DIFFERENCES,
    NOTHING,
    RAW,
    RAW_MASK,
    SENT,
)
from cdma.hdl.zvcplus.config import WIDTH_BITS, Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed

#: Mode and extension of a kind, with the sign and without.
WIDE = {DIFFERENCES: (3, 4), AS_IS: (3, 7), RAW_MASK: (3, 5), DENSE: (3, 6)}
NARROW = {DIFFERENCES: (1, None), AS_IS: (2, None), RAW_MASK: (3, 1), DENSE: (3, 2)}


class Writer:
    """The fields of a control, looked at through one of its places.

    Parameters
    ----------
    m : Module
        Gets the logic.
    place : Signal
        Any place of a bit.
    """

    def __init__(self, m: Module, place: Signal):
        self.m, self.place = m, place
        self.end, self.bit = Const(0, len(place)), Const(0, 1)
        self.fields = 0

    def append(self, value, size, is_here=1) -> None:
        """Append the lowest bits of a value, if it is there."""
        behind = Signal(len(self.place), name=f"behind{self.fields}")
        end = Signal(len(self.place), name=f"end{self.fields}")
        bit = Signal(name=f"field{self.fields}")
        wide = Cat(value, Const(0, (1 << len(behind)) - len(value)))
        self.m.d.comb += [
            behind.eq(self.place - self.end),
            end.eq(self.end + Mux(is_here, size, 0)),
            bit.eq(
                self.bit
                | (
                    is_here
                    & (self.place >= self.end)
                    & (self.place < end)
                    & wide.bit_select(behind, 1)
                )
            ),
        ]
        self.end, self.bit = end, bit
        self.fields += 1


class CodesControls(Elaboratable):
    """Any bit of a control is that of the field that lies there; no bit is behind."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        plan, config = dut.plan, dut.config
        word = config.word
        leave_open(m, dut, "enable", "valid", "plan")
        place = Signal(range(config.front_bits))
        m.d.comb += [place.eq(AnyConst(len(place))), Assume(place < config.front_bits)]
        # A group without a flag has no nibble, and a mask as it is has them all.
        for group in range(word.flags):
            nibble = plan.nibbles.word_select(group, 4)
            m.d.comb += Assume(plan.flags[group] | (nibble == 0))
        m.d.comb += [
            Assume(plan.kind <= NOTHING),
            Assume((plan.kind != DENSE) | (plan.flags == 0)),
            Assume((plan.kind != RAW_MASK) | plan.flags.all()),
        ]
        writer = Writer(m, place)
        end = self._write(m, writer)
        due, expected = Signal(name="due"), writer.bit
        m.d.comb += due.eq(expected)
        if not config.has_repeats:
            m.d.comb += [due.eq(expected & dut.valid), Assume(~dut.valid | (plan.bits == end))]
        late_bit, known = delayed(m, dut.enable, due, dut.latency(config))
        with m.If(known):
            m.d.comb += [
                Assert(dut.bits.bit_select(place, 1) == late_bit),
                Cover(late_bit & (place == 20)),
            ]
        return m

    def _write(self, m, writer):
        """Write the control of a plan, and with repeats the bits behind it."""
        plan, config, valid = self.dut.plan, self.dut.config, self.dut.valid
        word, kind = config.word, plan.kind
        is_coded = valid & (kind != ALL_ZERO) & (kind != NOTHING) & (kind != RAW)
        is_wide = plan.coding.is_wide if word.is_float else plan.groups.is_wide
        has_flags = (kind == DIFFERENCES) | (kind == AS_IS)
        mode, extension = Const(0, 2), Const(0, 3)
        for wide, table in ((0, NARROW), (1, WIDE)):
            for each, (number, more) in table.items():
                chosen = (kind == each) & (is_wide == wide)
                mode = Mux(chosen, number, mode)
                extension = Mux(chosen, more or 0, extension)
        writer.append(
            Mux(kind == RAW, 3, Mux(kind == ALL_ZERO, 0, mode)), 2, valid & (kind != NOTHING)
        )
        writer.append(
            Mux(kind == RAW, 0, extension)[:3],
            3,
            valid & ((kind == RAW) | (is_coded & (mode == 3))),
        )
        if config.has_repeats:
            writer.append(plan.has_repeats, 1, is_coded)
        if word.is_float:
            writer.append(plan.d, 3, is_coded)
            writer.append(plan.coding.k, 3, is_coded)
        else:
            writer.append(plan.groups.half, 1, is_coded)
            for index, width in enumerate(plan.groups.widths):
                sent = (width - is_wide)[:WIDTH_BITS]
                is_here = is_coded & (plan.groups.half if index % 2 else 1)
                writer.append(sent, WIDTH_BITS, is_here)
        writer.append(plan.flags, word.flags, is_coded & has_flags)
        if word.is_float:
            writer.append(plan.coding.base, word.exponent, is_coded & (plan.d == SENT))
        for group in range(word.flags):
            nibble = plan.nibbles.word_select(group, 4)
            writer.append(nibble, 4, is_coded & plan.flags[group])
        if config.has_repeats:
            self._append_repeats(m, writer, is_coded)
        return writer.end

    def _append_repeats(self, m, writer, is_coded):
        """The number of repeated words, and the bits of the block before."""
        dut, plan, config = self.dut, self.dut.plan, self.dut.config
        leave_open(m, dut, "repeats")
        bits, count = dut.repeats.bits, dut.repeats.count
        writer.append(plan.count, config.word.count_bits, is_coded & plan.has_repeats)
        m.d.comb += [
            Assume(~dut.valid | (plan.bits == writer.end)),
            Assume(is_coded | ~plan.has_repeats),
            Assume(count <= config.word.block_words),
            Assume((bits >> count) == 0),
        ]
        writer.append(bits, count)


SIZES = {
    "fp32": Config("fp32"),
    "fp32-left": Config("fp32", "left"),
    "bf16": Config("bf16"),
    "int8": Config("int8"),
}

PROOFS = (
    Proof(
        name="control_coder",
        promise="A control has the fields of its plan, one behind the other",
        components=(ControlCoder,),
        design=lambda config: CodesControls(ControlCoder(config)),
        sizes=SIZES,
        slow=("fp32-left", "bf16", "int8"),
        depth=5,
        broken=faults(
            SIZES["fp32"],
            7,
            late("dut.beside.o_valid"),
            stuck_at(0, "dut.beside.value0", 5),
            inverted("dut.bits", 20),
        ),
    ),
)
