"""A number that is counted down in parts is zero exactly when all steps were made."""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.timer import Timer
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


def timer_counts(m, path: str, bits: int, number, steps, is_valid) -> None:
    """Assert the invariants of a timer that was loaded with ``number`` and has made ``steps``.

    ``is_valid`` in cycles in which its ``done`` counts.
    """
    count = len(range(0, bits, 8))
    parts = [probe(m, f"{path}.left{k}", min(8, bits - 8 * k)) for k in range(count)]
    borrows, is_low = probe(m, f"{path}.borrows", count - 1), probe(m, f"{path}.is_low", 1)
    owed = Cat(*(Cat(Const(0, 8 if k == 0 else 7), borrows[k]) for k in range(count - 1)))
    m.d.comb += [
        # What the parts say, less the borrows on their way, is what is left to count.
        Assert(Cat(parts) + steps == number + owed),
        Assert(steps <= number),
        *(Assert(~borrows[k] | parts[k].all()) for k in range(count - 1)),
        Assert(~is_low | ~Cat(*parts[1:], borrows).any()),
        Assert(~is_valid | (steps != number) | is_low),
    ]


class CountsSteps(Elaboratable):
    """``done`` says that as many steps were made as the number that was loaded last."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        number, steps, is_loaded = Signal(dut.bits), Signal(dut.bits), Signal()
        was_loaded, has_run = Signal(), Signal()
        m.d.comb += [
            dut.load.eq(anything(m, 1, "load") | ~has_run | (dut.done & is_loaded & ~was_loaded)),
            dut.number.eq(anything(m, dut.bits, "number")),
            Assume(dut.number != 0),
            dut.step.eq(anything(m, 1, "step")),
        ]
        m.d.sync += [has_run.eq(1), was_loaded.eq(dut.load)]
        with m.If(dut.load):
            m.d.sync += [number.eq(dut.number), steps.eq(0), is_loaded.eq(1)]
        with m.Else():
            m.d.sync += steps.eq(steps + dut.step)
        m.d.comb += [Assert(is_loaded == has_run), Assert(~was_loaded | (steps == 0))]
        with m.If(is_loaded):
            timer_counts(m, "dut", dut.bits, number, steps, 1)
            m.d.comb += [
                Assert(number != 0),
                Assert(dut.done == (steps == number)),
                Cover(dut.done & (number == 3)),
            ]
        return m


PROOFS = (
    Proof(
        name="timer",
        promise="A number that is counted down is zero exactly when all steps were made",
        components=(Timer,),
        design=lambda bits: CountsSteps(Timer(bits)),
        sizes={"20 bits": 20, "9 bits": 9},
        broken=faults(9, 8, stuck_at(0, "dut.left0", 0), late("dut.done")),
    ),
)
