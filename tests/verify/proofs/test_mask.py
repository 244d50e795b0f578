"""Zero detection of every beat."""

import pytest
from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvc.compressor.zeros import MaskGenerator
from cdma.verify.formal.stream_rules import anything


class Detects(Elaboratable):
    """Any lane is marked just when its word is kept and has a bit set."""

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


@pytest.mark.proof(MaskGenerator, "8x32, 16x16, 32x8", induction=1)
@pytest.mark.parametrize(("lanes", "word_bits"), [(8, 32), (16, 16), (32, 8)])
def test_a_word_is_marked_just_when_it_is_kept_and_has_a_bit_set(formal, lanes, word_bits):
    formal(Detects(MaskGenerator(lanes, word_bits)))


@pytest.mark.proof(MaskGenerator, "8x32", induction=1)
def test_a_detector_that_leaves_out_a_bit_is_refuted(formal, mutated):
    formal.refutes(Detects(mutated(MaskGenerator, "[lane].any()", "[lane][1:].any()")(8, 32)))
