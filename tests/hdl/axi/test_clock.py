"""Components with clock and reset as ports stand in designs with any clock domains."""

import re
import warnings

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.sim import Simulator

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.stream import top
from cdma.hdl.engine.engine import AxiEngine
from cdma.hdl.zvc.config import Config

CONFIG = Config.parse("2x8b8")
ENGINE = EngineConfig(channels=1, lanes=2, latency=0, stripe_bytes=1024)
MAKERS = {
    "unit": lambda: top("compressor", CONFIG),
    "engine": lambda: AxiEngine(ENGINE),
}


@pytest.fixture(autouse=True)
def _strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def fed(m, axi):
    """Clock and reset of the design at the ports."""
    m.d.comb += [axi.aclk.eq(ClockSignal()), axi.aresetn.eq(~ResetSignal())]


@pytest.mark.parametrize("kind", MAKERS)
def test_beside_logic_of_another_clock(kind):
    m, toggle = Module(), Signal()
    m.submodules.axi = axi = MAKERS[kind]()
    m.d.sync += toggle.eq(~toggle)
    text = rtlil.convert(m, ports=[axi.aclk, axi.aresetn, toggle])
    (whole,) = re.findall(r"^module \\top\n(.*?)^end$", text, re.M | re.S)
    assert re.findall(r"connect \\CLK (\S+)", whole) == ["\\clk"]


@pytest.mark.parametrize("kind", MAKERS)
def test_in_a_design_that_declares_its_domain(kind):
    m, domain = Module(), ClockDomain("sync")
    m.domains.sync = domain
    m.submodules.axi = axi = MAKERS[kind]()
    fed(m, axi)
    rtlil.convert(m, ports=[domain.clk, domain.rst])


def test_in_a_renamed_domain():
    m, inner = Module(), Module()
    m.domains.fast = domain = ClockDomain()
    inner.submodules.axi = axi = top("compressor", CONFIG)
    fed(inner, axi)
    m.submodules.inner = DomainRenamer("fast")(inner)
    rtlil.convert(m, ports=[domain.clk, domain.rst])


def test_two_without_names():
    m = Module()
    for _ in range(2):
        axi = top("compressor", CONFIG)
        m.submodules += axi
        fed(m, axi)
    rtlil.convert(m, ports=[])


def test_simulates_on_the_clock_of_the_design():
    """A packet of one beat goes through two compressors beside each other."""
    m, units = Module(), [top("compressor", CONFIG) for _ in range(2)]
    for number, axi in enumerate(units):
        m.submodules[f"unit{number}"] = axi
        fed(m, axi)
    seen = []

    async def bench(ctx):
        for axi in units:
            for name, value in (("tdata", 0x0500), ("tkeep", 3), ("tlast", 1), ("tvalid", 1)):
                ctx.set(getattr(axi, f"s_axis_{name}"), value)
            ctx.set(axi.m_axis_tready, 1)
            ctx.set(axi.m_axis_sts_tready, 1)
        for _ in range(40):
            _, _, *values = await ctx.tick().sample(
                *(each for axi in units for each in (axi.m_axis_tvalid, axi.m_axis_tdata))
            )
            for axi in units:
                if ctx.get(axi.s_axis_tvalid):
                    ctx.set(axi.s_axis_tvalid, 0)
            seen.extend(values[k + 1] for k in (0, 2) if values[k])

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [0x0502, 0x0502]  # the mask, and the second word


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AxiEngine(CONFIG), "must be an EngineConfig, not Config"),
        (lambda: top("compressor", "4x16"), "must be that of a unit, not '4x16'"),
        (lambda: top("compressor", ENGINE), "must be that of a unit, not EngineConfig"),
    ],
)
def test_other_configurations_are_refused(make, message):
    with pytest.raises(TypeError, match=f"^Configuration {message}"):
        make()
