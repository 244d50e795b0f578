"""The range of the exponents of a block: of any exponent, whether a word has it."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.survey.exponents import ExponentRange
from cdma.hdl.zvcplus.compressor.survey.new_exponents import NewExponentRange
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed


def gathered(m: Module, enable, beat: Signal, stages: int):
    """Flags of all beats of a block, joined: one register each behind as many stages.

    ``beat`` has the flags, whether it is valid, and whether it begins a block. Also returns whether
    a block has begun.
    """
    late_beat, known = delayed(m, enable, beat, stages)
    flags, valid, first = late_beat[:-2], late_beat[-2], late_beat[-1]
    joined, begun = Signal(len(flags), name="joined"), Signal(name="begun")
    with m.If(enable & known & valid):
        m.d.sync += [joined.eq(Mux(first, 0, joined) | flags), begun.eq(begun | first)]
    return joined, begun


def is_range(m: Module, name: str, top, least, value, has_value, has_any) -> None:
    """Assert that ``top`` and ``least`` are the range of the values: they are values, and no value
    is outside; without values, 0 and all ones. ``value`` is any one."""
    m.d.comb += [
        Assert(~has_any | (top != value) | has_value),
        Assert(~has_any | (least != value) | has_value),
        Assert(~has_value | ((value <= top) & (value >= least))),
        Assert(has_any | ((top == 0) & least.all())),
        Cover(has_value & (top != least) & (value == least)),
    ]


class HasRange(Elaboratable):
    """The range is that of the exponents of the words that are kept and not zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        word, config = dut.config.word, dut.config
        value = Signal(word.exponent)
        leave_open(m, dut, "enable", "valid", "first", "words", "keep")
        m.d.comb += [value.eq(AnyConst(len(value))), Assume((dut.keep & (dut.keep + 1)) == 0)]
        nonzero = Signal(config.lanes)
        m.d.comb += nonzero.eq(Cat(each.any() for each in dut.words) & dut.keep)
        with m.If(dut.enable):
            m.d.sync += dut.mask.eq(nonzero)
        fits = [each[word.mantissa : -1] == value for each in dut.words]
        beat = Signal(4, name="beat")
        m.d.comb += beat.eq(Cat((Cat(fits) & nonzero).any(), nonzero.any(), dut.valid, dut.first))
        joined, begun = gathered(m, dut.enable, beat, dut.latency(config) - 1)
        with m.If(begun):
            is_range(m, "all", dut.top, dut.least, value, joined[0], joined[1])
        return m


class HasRanges(Elaboratable):
    """The ranges are those of the new words, and of these with a repeated first word."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        word, config = dut.config.word, dut.config
        value, exponents = Signal(word.exponent), [each[word.mantissa : -1] for each in dut.words]
        leave_open(m, dut, "enable", "valid", "first", "words")
        new, is_repeated = anything(m, config.lanes, "new"), anything(m, 1, "repeated")
        m.d.comb += value.eq(AnyConst(len(value)))
        with m.If(dut.enable):
            m.d.sync += [dut.mask.eq(new), dut.is_repeated.eq(is_repeated)]
        fits = Cat(each == value for each in exponents)
        starts = dut.first & is_repeated
        beat = Signal(6, name="beat")
        m.d.comb += beat.eq(
            Cat(
                (fits & new).any(),
                new.any(),
                (fits & new).any() | (starts & fits[0]),
                new.any() | starts,
                dut.valid,
                dut.first,
            )
        )
        joined, begun = gathered(m, dut.enable, beat, dut.latency(config) - 1)
        with m.If(begun):
            is_range(m, "new", dut.new_top, dut.new_least, value, joined[0], joined[1])
            is_range(m, "all", dut.top, dut.least, value, joined[2], joined[3])
        return m


PROOFS = (
    Proof(
        name="exponent_range",
        promise="The range of a block is that of the exponents of its words that are not zero",
        components=(ExponentRange,),
        design=lambda name: HasRange(ExponentRange(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        slow=("fp32", "fp16", "bf16"),
        depth=5,
        broken=faults(
            "fp32", 8, late("dut.is_zero"), stuck_at(0, "dut.is_tiny"), inverted("dut.is_zero", 3)
        ),
    ),
    Proof(
        name="new_exponent_range",
        promise="The ranges are those of the new words, and of all words of a block",
        components=(NewExponentRange,),
        design=lambda name: HasRanges(NewExponentRange(Config(name, "left"))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        slow=("fp32", "fp16", "bf16"),
        depth=6,
        broken=faults("fp32", 9, late("dut.exponent_3"), stuck_at(1, "dut.mask", 3)),
    ),
)
