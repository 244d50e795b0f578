"""The delay line: the delay of each value, in enabled cycles, is the number of stages."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value

from cdma.hdl.lib.delay import DelayLine
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import PDR, Proof, faults

BITS = 4


class Delays(Elaboratable):
    """A value, picked at the input, leaves with its valid bit after this number of enabled cycles.
    After reset, no output is valid before the first valid input."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        given, found = Value.cast(dut.i), Value.cast(dut.o)
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            dut.i_valid.eq(anything(m, 1, "valid")),
            given.eq(anything(m, len(given), "value")),
        ]
        age, value, was_valid = Signal(range(dut.stages + 2)), Signal(len(given)), Signal()
        is_picked, has_valid = Signal(), Signal()
        picks = anything(m, 1, "pick") & ~is_picked
        with m.If(dut.enable):
            m.d.sync += has_valid.eq(has_valid | dut.i_valid)
            with m.If(picks):
                m.d.sync += [is_picked.eq(1), value.eq(given), was_valid.eq(dut.i_valid)]
                m.d.sync += age.eq(1)
            with m.Elif(is_picked & (age <= dut.stages)):
                m.d.sync += age.eq(age + 1)
        m.d.comb += Assert(has_valid | ~dut.o_valid)
        with m.If(is_picked & (age == dut.stages)):
            m.d.comb += [
                Assert(dut.o_valid == was_valid),
                Assert(found == value),
                Cover(was_valid & (value != 0)),
            ]
        return m


PROOFS = (
    Proof(
        name="delay_line",
        promise="The delay of each value, in enabled cycles, is the number of stages",
        components=(DelayLine,),
        design=lambda stages: Delays(DelayLine(BITS, stages)),
        sizes={f"{BITS} bits, {stages} stages": stages for stages in (1, 2, 3)},
        mode=PDR,
        depth=4,
        broken=faults(2, 6, late("dut.valid0"), stuck_at(0, "dut.value1", 2)),
    ),
)
