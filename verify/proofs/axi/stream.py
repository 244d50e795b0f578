"""The AXI4-Stream tops connect each port and the reset directly to the unit."""

from amaranth.hdl import (
    Assert,
    Cat,
    ClockSignal,
    Const,
    Cover,
    Elaboratable,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import Out

from cdma.hdl.axi.stream import PREFIXES, AxiTop
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, swapped


class Anything:
    """Replaces the logic of a unit: outputs are unconstrained. One register checks the reset."""

    def elaborate(self, platform):
        m = Module()
        for name, member in self.signature.members.items():
            port = getattr(self, name)
            if name == "zero":
                continue
            outputs = [port.valid, port.payload] if member.flow is Out else [port.ready]
            for k, value in enumerate(map(Value.cast, outputs)):
                m.d.comb += value.eq(anything(m, len(value), f"any_{name}{k}"))
        has_run = Signal()
        m.d.sync += has_run.eq(1)
        return m


class AnyCompressor(Anything, Compressor):
    """The ports of a compressor."""


class AnyDecompressor(Anything, Decompressor):
    """The ports of a decompressor."""


class IsThin(Elaboratable):
    """Each AXI port, and that of a zero value, carries the same value as the port of the unit."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = dut
        unit = dut.unit
        m.d.comb += [
            dut.aclk.eq(ClockSignal()),
            dut.aresetn.eq(~ResetSignal() & anything(m, 1, "stays")),
        ]
        for name, member in unit.signature.members.items():
            if name == "zero":
                m.d.comb += dut.s_zero.eq(anything(m, len(dut.s_zero), "any_zero"))
                m.d.comb += [Assert(unit.zero == dut.s_zero), Cover(unit.zero.all())]
                continue
            port, axi = getattr(unit, name), _Axi(dut, PREFIXES[name])
            # The payload of a beat is tdata, tkeep and tlast. The payload of a record is tdata.
            payload = [axi.tdata, axi.tkeep, axi.tlast] if name in ("i", "o") else [axi.tdata]
            inputs = [axi.tready] if member.flow is Out else [axi.tvalid, *payload]
            for k, signal in enumerate(inputs):
                m.d.comb += signal.eq(anything(m, len(signal), f"any_{name}_in{k}"))
            m.d.comb += [
                Assert(Value.cast(port.payload) == Cat(payload)),
                Assert(port.valid == axi.tvalid),
                Assert(port.ready == axi.tready),
                Cover(port.valid & port.ready & Cat(payload).all()),
            ]
        was_reset = Signal(init=1)
        has_run = probe(m, "dut.core.has_run", 1)
        m.d.sync += was_reset.eq(~dut.aresetn)
        m.d.comb += [Assert(has_run == ~was_reset), Cover(was_reset), Cover(has_run)]
        return m


class _Axi:
    """Signals of one AXI port of a top, found by prefix."""

    def __init__(self, top, prefix):
        self._top, self._prefix = top, prefix

    def __getattr__(self, name):
        return getattr(self._top, f"{self._prefix}_{name}")


class LastIsKeep(AxiTop):
    """``tlast`` is connected to a bit of ``tkeep``."""

    def _signals(self, name):
        for suffix, value, is_forward in super()._signals(name):
            keep = suffix == "tlast" and getattr(self.unit, name).payload.keep[0]
            yield suffix, keep if suffix == "tlast" else value, is_forward


class KeepIsReversed(AxiTop):
    """The bits of ``tkeep`` are in reverse order."""

    def _signals(self, name):
        for suffix, value, is_forward in super()._signals(name):
            yield suffix, value[::-1] if suffix == "tkeep" else value, is_forward


class NeverResets(AxiTop):
    """The reset does not reach the unit."""

    def elaborate(self, platform):
        aresetn, self.aresetn = self.aresetn, Const(1)
        m = super().elaborate(platform)
        self.aresetn = aresetn
        return m


class ZeroIsLost(AxiTop):
    """The zero value does not reach the unit."""

    def elaborate(self, platform):
        zero, self.s_zero = self.s_zero, Const(0, len(self.s_zero))
        m = super().elaborate(platform)
        self.s_zero = zero
        return m


CONFIG, ZERO_PORT = Config.of(8, 32), Config.parse("8x32-zport")
WRONG = {
    "tlast is a bit of tkeep": LastIsKeep,
    "tkeep is reversed": KeepIsReversed,
    "no reset": NeverResets,
}


PROOFS = (
    Proof(
        name="axi_top",
        promise="The AXI top connects each port and the reset directly to its unit",
        components=(AxiTop,),
        design=lambda size: IsThin(AxiTop(size[0](size[1]))),
        sizes={
            "8x32": (AnyCompressor, CONFIG),
            "8x32 decompressor": (AnyDecompressor, CONFIG),
            "8x32-zport": (AnyCompressor, ZERO_PORT),
            "8x32-zport decompressor": (AnyDecompressor, ZERO_PORT),
            "8x32-ones decompressor": (AnyDecompressor, Config.parse("8x32-ones")),
        },
        broken=swapped(
            3,
            {
                f"{wrong} of {unit.__name__}": lambda top=top, unit=unit: IsThin(top(unit(CONFIG)))
                for wrong, top in WRONG.items()
                for unit in (AnyCompressor, AnyDecompressor)
            }
            | {"s_zero is lost": lambda: IsThin(ZeroIsLost(AnyCompressor(ZERO_PORT)))},
        ),
    ),
)
