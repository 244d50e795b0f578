"""Zero detection of every beat."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvc.compressor.zeros import MaskGenerator
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Detects(Elaboratable):
    """A lane is marked if and only if its word is kept and not zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, word_bits = len(dut.keep), dut.words.shape().elem_shape
        m.d.comb += [
            dut.words.as_value().eq(anything(m, lanes * word_bits, "words")),
            dut.keep.eq(anything(m, lanes, "keep")),
        ]
        lane = Signal(range(lanes))
        m.d.comb += lane.eq(AnyConst(len(lane)))
        is_kept, is_marked = dut.keep.bit_select(lane, 1), dut.mask.bit_select(lane, 1)
        m.d.comb += [
            Assert(is_marked == (is_kept & (dut.words[lane] != 0))),
            Cover(is_marked),
            Cover(is_kept & ~is_marked),
        ]
        return m


PROOFS = (
    Proof(
        name="mask_generator",
        promise="A word is marked if and only if it is kept and not zero",
        components=(MaskGenerator,),
        design=lambda size: Detects(MaskGenerator(*size)),
        sizes={"8x32": (8, 32), "16x16": (16, 16), "32x8": (32, 8)},
        broken=faults((8, 32), 1, stuck_at(1, "dut.mask", 3), stuck_at(0, "dut.mask", 0)),
    ),
)
