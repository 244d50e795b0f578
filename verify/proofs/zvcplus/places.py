"""What becomes of words and controls on their way to the stream, for all inputs and stalls."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.fields import FloatFields
from cdma.hdl.zvcplus.compressor.records import SENT
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


def delayed(m, enable, value: Signal, stages: int) -> tuple[Signal, Signal]:
    """The value as many enabled cycles later, and whether there was one by then."""
    valid = Signal(init=1)
    for stage in range(stages):
        later = Signal.like(value, name=f"{value.name}{stage}")
        later_valid = Signal(name=f"{value.name}_valid{stage}")
        with m.If(enable):
            m.d.sync += [later.eq(value), later_valid.eq(valid)]
        value, valid = later, later_valid
    return value, valid


class Fields(Elaboratable):
    """The field of any word is its mantissa, the lowest k bits of its offset, and its sign."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        word, coding = dut.config.word, dut.coding
        lane = Signal(range(dut.config.lanes))
        words = dut.words.as_value()
        enable = anything(m, 1, "enable")
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            dut.enable.eq(enable),
            words.eq(anything(m, len(words), "words")),
            dut.mask.eq(anything(m, len(dut.mask), "mask")),
            coding.as_value().eq(anything(m, len(coding.as_value()), "coding")),
            Assume((coding.k == SENT) | (coding.k <= word.exponent)),
        ]
        value, offset = Signal(word.bits), Signal(word.exponent)
        bits = Signal(range(word.exponent + 1))
        field = Signal(word.bits, name="field")
        exponent = value[word.mantissa : word.bits - 1]
        sign = value[-1] & coding.is_wide
        m.d.comb += [
            value.eq(dut.words[lane]),
            bits.eq(Mux(coding.k == SENT, word.exponent, coding.k)),
            offset.eq(Mux(coding.k == SENT, exponent, coding.base - exponent)),
        ]
        with m.If(dut.mask.bit_select(lane, 1)):
            sent = (offset & ((1 << bits) - 1)) | (sign << bits)
            m.d.comb += field.eq(value[: word.mantissa] | (sent << word.mantissa))
        expected, valid = delayed(m, enable, field, dut.LATENCY)
        with m.If(valid):
            m.d.comb += [Assert(dut.fields[lane] == expected), Cover(expected != 0)]
        return m


class Rotates(Elaboratable):
    """Any bit of a row is the bit of the control as far behind its first, or zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enable = anything(m, 1, "enable")
        place, distance, bit = Signal(8), Signal(8), Signal(name="bit")
        m.d.comb += [
            place.eq(AnyConst(8)),
            dut.enable.eq(enable),
            dut.control.eq(anything(m, len(dut.control), "control")),
            dut.at.eq(anything(m, 8, "at")),
            distance.eq(place - dut.at),
        ]
        with m.If(distance < len(dut.control)):
            m.d.comb += bit.eq(dut.control.bit_select(distance[: len(dut.control).bit_length()], 1))
        expected, valid = delayed(m, enable, bit, dut.LATENCY)
        with m.If(valid):
            m.d.comb += [Assert(dut.bits.bit_select(place, 1) == expected), Cover(expected)]
        return m


PROOFS = (
    Proof(
        name="float_fields",
        promise="A field is the mantissa, the bits of the offset that are sent, and the sign",
        components=(FloatFields,),
        design=lambda name: Fields(FloatFields(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        depth=3,
        broken=faults(
            "bf16", 6, late("dut.held3"), inverted("dut.below", 0), stuck_at(1, "dut.mask", 0)
        ),
    ),
    Proof(
        name="control_rotator",
        promise="A control comes to its place in a row, cyclically, with zeros around it",
        components=(ControlRotator,),
        design=lambda name: Rotates(ControlRotator(Config(name))),
        sizes={name: name for name in ("fp32", "bf16")},
        depth=3,
        broken=faults("fp32", 6, late("dut.upper"), stuck_at(0, "dut.near", 40)),
    ),
)
