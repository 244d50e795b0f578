"""The range of the exponents of a block, found by comparing all pairs: of any exponent."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Cat, Elaboratable, Module, Signal

from cdma.hdl.zvcplus.compressor.plain.survey.exponents import PairedRange
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.exponents import gathered, is_range


class HasRange(Elaboratable):
    """The range is that of the exponents of the words that count."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        value, enable = Signal(dut.config.word.exponent), anything(m, 1, "enable")
        leave_open(m, dut, "valid", "first", "exponents", "mask")
        fits = Cat(each == value for each in dut.exponents)
        beat = Signal(4, name="beat")
        m.d.comb += [
            value.eq(AnyConst(len(value))),
            dut.enable.eq(enable.replicate(2)),
            beat.eq(Cat((fits & dut.mask).any(), dut.mask.any(), dut.valid, dut.first)),
        ]
        joined, begun = gathered(m, enable, beat, dut.LATENCY - 1)
        with m.If(begun):
            is_range(m, "all", dut.top, dut.least, value, joined[0], joined[1])
        return m


PROOFS = (
    Proof(
        name="paired_range",
        promise="The range of a block is that of the exponents of its words that count",
        components=(PairedRange,),
        design=lambda name: HasRange(PairedRange(Config(name))),
        sizes={name: name for name in ("fp16", "fp32", "bf16")},
        slow=("fp16", "fp32", "bf16"),
        depth=4,
        broken=faults(
            "fp32",
            8,
            late("dut.top4"),
            stuck_at(0, "dut.beside.o"),
            inverted("dut.floor0", 3),
        ),
    ),
)
