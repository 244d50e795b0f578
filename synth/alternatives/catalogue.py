"""Alternatives to parts of the units, as designs for the synthesis flow.

Networks, stall methods and buffers: the variant that the units use, and other variants. Parts that
every design needs show the limit.
"""

from collections.abc import Callable

from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.compressor.intake import Intake
from cdma.hdl.zvc.config import Config
from cdma.synth.alternatives import networks, pipelines
from cdma.synth.flow.measure import Design

TOP = "alternative"

#: Registers of the pipelines with the stall methods.
STAGES = 4


def _sized(kind) -> Callable[[Config], wiring.Component]:
    return lambda config: kind(config.lanes, config.format.word_bits)


def _staged(kind) -> Callable[[Config], wiring.Component]:
    return lambda config: kind(config.beat_bits, STAGES)


def _waiting(kind) -> Callable[[Config], wiring.Component]:
    return lambda config: kind(config.beat_bits, Intake.rows(config))


#: Functions that make a component for a configuration, by name, ``kind: variant``.
COMPONENTS: dict[str, Callable[[Config], wiring.Component]] = {
    "network: crossbar": _sized(networks.Crossbar),
    "network: collapse, rotate": _sized(networks.ShiftRotate),
    "network: collapse, register, rotate": _sized(networks.RegisteredShiftRotate),
    "network: butterfly with tags": _sized(networks.TaggedButterfly),
    "network: butterfly, as in the units": _sized(networks.RoutedButterfly),
    "stall: one enable": _staged(pipelines.Enabled),
    "stall: skid, one enable": _staged(pipelines.EnabledBehindSkid),
    "stall: an enable each": _staged(pipelines.Elastic),
    "stall: a skid each": _staged(pipelines.Skids),
    "stall: none, credits, buffer": _staged(pipelines.Credits),
    "buffer: memory, as in the units": _waiting(RowBuffer),
    "buffer: flip-flops and pointers": _waiting(pipelines.Registers),
    "buffer: flip-flops that move up": _waiting(Queue),
    "buffer: block memory": _waiting(pipelines.BlockRam),
    "limit: skid": lambda config: pipelines.Skid(config.beat_bits),
    "limit: a beat's register": lambda config: pipelines.Delay(config.beat_bits, 1),
    "limit: a block's words": lambda config: pipelines.Delay(config.beat_bits, config.block_beats),
    "limit: switches alone": _sized(networks.BareSwitches),
}


def design(name: str, config: Config) -> Design:
    """The alternative with this name, as a design with clock ``aclk``."""
    top = _Clocked(COMPONENTS[name](config))
    return Design(name, config, TOP, verilog.convert(top, name=TOP, emit_src=False))


class _Clocked(wiring.Component):
    """A component with ports, and with the clock name that the flow expects."""

    def __init__(self, inner: wiring.Component):
        self.inner = inner
        super().__init__({"aclk": In(1), "aresetn": In(1), **inner.signature.members})

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = domain = ClockDomain()
        domain.clk = self.aclk
        m.d.comb += domain.rst.eq(~self.aresetn)
        m.submodules.inner = self.inner
        for name, member in self.inner.signature.members.items():
            inside, outside = getattr(self.inner, name), getattr(self, name)
            if member.is_port:
                source, sink = (outside, inside) if member.flow is In else (inside, outside)
                m.d.comb += sink.eq(source)
            else:
                wiring.connect(m, wiring.flipped(outside), inside)
        return m
