"""Words that repeat the word before them, compared with one word after the other."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.survey.repeats import LeftCompare
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class CopiesTheWordBefore(Elaboratable):
    """Each repeated word equals the word before it, also of the beat before; the first a zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        before = Signal(dut.config.word.bits)
        leave_open(m, dut, "words", "repeated", "final", "take")
        for lane, word in enumerate(dut.words):
            source = dut.o[lane - 1] if lane else before
            m.d.comb += Assert(dut.o[lane] == Mux(dut.repeated[lane], source, word))
        with m.If(dut.take):
            m.d.sync += before.eq(Mux(dut.final, 0, dut.o[len(dut.words) - 1]))
        m.d.comb += [
            Assert(probe(m, "dut.carried", len(before)) == before),
            Cover(dut.repeated.all() & (before != 0)),
        ]
        return m


class ComparesWithTheWordBefore(Elaboratable):
    """A bit says whether any word equals the one before it in the packet."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lane, equals = Signal(range(dut.config.lanes)), Signal()
        before, has_before = Signal(dut.config.word.bits), Signal()
        leave_open(m, dut, "enable", "valid", "words", "last")
        m.d.comb += lane.eq(AnyConst(len(lane)))
        with m.If(lane == 0):
            m.d.comb += equals.eq(has_before & (dut.words[0] == before))
        with m.Else():
            m.d.comb += equals.eq(dut.words[lane] == dut.words[(lane - 1)[: len(lane)]])
        was_valid, was_equal = Signal(), Signal()
        with m.If(dut.enable):
            m.d.sync += [was_valid.eq(dut.valid), was_equal.eq(equals)]
            with m.If(dut.valid):
                m.d.sync += [before.eq(dut.words[dut.config.lanes - 1]), has_before.eq(~dut.last)]
        with m.If(was_valid):
            m.d.comb += [
                Assert(dut.equal.bit_select(lane, 1) == was_equal),
                Cover(was_equal & (lane == 0)),
                Cover(~was_equal & (lane == 0) & ~has_before),
            ]
        m.d.comb += Assert(probe(m, "dut.has_before", 1) == has_before)
        with m.If(has_before):
            m.d.comb += Assert(probe(m, "dut.before", len(before)) == before)
        return m


SIZES = {f"{name}-left": Config(name, "left") for name in ("fp32", "bf16", "int8")}

PROOFS = (
    Proof(
        name="left_copy",
        promise="A repeated word equals the word before it, across beats and not across packets",
        components=(LeftCopy,),
        design=lambda config: CopiesTheWordBefore(LeftCopy(config)),
        sizes=SIZES,
        broken=faults(SIZES["bf16-left"], 4, late("dut.carried"), stuck_at(0, "dut.value4_7", 3)),
    ),
    Proof(
        name="left_compare",
        promise="A word is compared with the word before it in its packet",
        components=(LeftCompare,),
        design=lambda config: ComparesWithTheWordBefore(LeftCompare(config)),
        sizes=SIZES,
        depth=2,
        broken=faults(
            SIZES["fp32-left"], 5, stuck_at(1, "dut.has_before"), inverted("dut.pieces", 5)
        ),
    ),
)
