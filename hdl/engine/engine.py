"""The engine's top level."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.clock import own_domain
from cdma.hdl.axi.full import Manager, wires
from cdma.hdl.axi.lite import LITE_SIGNALS
from cdma.hdl.engine.datapath import DataPath
from cdma.hdl.engine.front.front import FrontEnd
from cdma.hdl.engine.ports import channel, link
from cdma.hdl.engine.registers import ADDRESS_BITS

REGISTERS = "s_axil"
LINK = "m_axi_link"
MEANINGS = {
    REGISTERS: "AXI4-Lite: registers",
    LINK: "AXI4 to the host: ID 0 streams, 1 index, 2 rings",
}


def channel_prefix(number: int) -> str:
    """Prefix of a channel's AXI4 port."""
    return f"m_axi_ch{number}"


class AxiEngine(wiring.Component):
    """The engine behind AXI ports with the names that vendors' tools infer (Arm IHI 0022).

    One clock, synchronous active-low reset: both are ports, whatever domains the design has.
    ``docs/registers.md`` describes the registers.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    aclk, aresetn : In, clock and reset
    irq : Out, interrupt, level
    s_axil_* : AXI4-Lite subordinate, registers
    m_axi_ch0_*, ... : AXI4 managers, one for each memory channel
    m_axi_link_* : AXI4 manager towards the host
    """

    aclk: Signal
    aresetn: Signal
    irq: Signal

    def __init__(self, config: EngineConfig):
        if not isinstance(config, EngineConfig):
            raise TypeError(f"Configuration must be an EngineConfig, not {config!r}")
        self.config = config
        bits = config.address_bits
        ports = {"aclk": In(1), "aresetn": In(1), "irq": Out(1)}
        for name, flow, width in LITE_SIGNALS:
            ports[f"{REGISTERS}_{name}"] = flow(width or ADDRESS_BITS)
        managers = {
            channel_prefix(c): Manager(bits, config.beat_bytes, channel.ID_BITS)
            for c in range(config.channels)
        }
        managers[LINK] = Manager(bits, config.link_bytes, link.ID_BITS)
        for prefix, manager in managers.items():
            for name, value, flow in wires(manager.create()):
                ports[f"{prefix}_{name}"] = flow(len(value))
        super().__init__(ports)

    def streams(self) -> list[tuple[str, str]]:
        """Prefix and meaning of each group of ports, in their order."""
        channels = [
            (channel_prefix(c), f"AXI4 to memory channel {c}") for c in range(self.config.channels)
        ]
        return [(REGISTERS, MEANINGS[REGISTERS]), *channels, (LINK, MEANINGS[LINK])]

    def elaborate(self, platform):
        m = Module()
        placed = own_domain(m, self.aclk, self.aresetn)
        config = self.config
        front, data, arbiter = FrontEnd(config), DataPath(config), link.LinkArbiter(config)
        for name, part in (("front", front), ("data", data), ("link", arbiter)):
            m.submodules[name] = placed(part)
        for number in range(2):
            name = f"port{number}"
            wiring.connect(m, getattr(front, name), getattr(data, name))
        for c in range(config.channels):
            wiring.connect(m, getattr(front, f"channel{c}"), getattr(data, f"control{c}"))
            self._expose(m, channel_prefix(c), getattr(data, f"channel{c}"))
        writes = (data.data_write, data.index_write, front.writes)
        reads = (data.data_read, data.index_read, front.reads)
        for number, (write, read) in enumerate(zip(writes, reads, strict=True)):
            wiring.connect(m, write, arbiter.writes[number])
            wiring.connect(m, read, arbiter.reads[number])
        self._expose(m, LINK, arbiter.port)
        m.d.comb += [
            self.irq.eq(front.irq),
            data.timeout.eq(front.timeout),
            arbiter.timeout.eq(front.timeout),
            front.link_failed.eq(arbiter.failed),
        ]
        for name, flow, _ in LITE_SIGNALS:
            port, value = getattr(self, f"{REGISTERS}_{name}"), getattr(front.axi, name)
            m.d.comb += value.eq(port) if flow is In else port.eq(value)
        return m

    def _expose(self, m, prefix, manager):
        """Drive the plain ports of a manager."""
        for name, value, flow in wires(manager):
            port = getattr(self, f"{prefix}_{name}")
            m.d.comb += port.eq(value) if flow is Out else value.eq(port)
