"""The engine as a module of LiteX: Verilog, buses and interrupt."""

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

#: Signals of each AXI4 channel, beside VALID and READY, that LiteX has. IDs are among them.
FULL = {
    "aw": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
    "ar": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "r": ("id", "data", "resp", "last"),
}
LITE = {
    "aw": ("addr", "prot"),
    "w": ("data", "strb"),
    "b": ("resp",),
    "ar": ("addr", "prot"),
    "r": ("data", "resp"),
}
REGISTER_BYTES = 4096
LINK_ID_BITS, CHANNEL_ID_BITS = 2, 1
#: What the connections below are made for, as messages call it.
CONNECTED = {"channels": ("Number of channels", 1), "address_bits": ("Number of address bits", 32)}


class Engine(LiteXModule):
    """Engine with one channel.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine, with one channel and 32 address bits.

    Members
    -------
    registers : AXILiteInterface
        Registers, 4 KiB.
    channel, link : AXIInterface
        Managers towards device memory and host memory.
    ev : EventManager
        Source ``engine``: the level of ``irq``.

    Raises
    ------
    ValueError
        When the engine has more channels or address bits, which would stay unconnected.
    """

    def __init__(self, config):
        for name, (what, expected) in CONNECTED.items():
            if (value := getattr(config, name)) != expected:
                raise ValueError(f"{what} must be {expected} in LiteX, not {value}")
        self.registers = AXILiteInterface(data_width=32, address_width=32)
        self.channel = _manager(config.beat_bytes, CHANNEL_ID_BITS)
        self.link = _manager(config.link_bytes, LINK_ID_BITS)
        self.ev = EventManager()
        self.ev.engine = EventSourceLevel(description="Interrupt of the engine.")
        self.ev.finalize()
        self.specials += Instance(
            "cdma_engine",
            i_aclk=ClockSignal(),
            i_aresetn=~ResetSignal(),
            o_irq=self.ev.engine.trigger,
            **_ports(self.registers, "s_axil", LITE, is_manager=False),
            **_ports(self.channel, "m_axi_ch0", FULL, is_manager=True),
            **_ports(self.link, "m_axi_link", FULL, is_manager=True),
        )


def _manager(data_bytes: int, id_bits: int) -> AXIInterface:
    return AXIInterface(data_width=8 * data_bytes, address_width=32, id_width=id_bits)


def _ports(bus, prefix: str, channels: dict, is_manager: bool) -> dict:
    """Connections of one bus: ``o_`` for outputs of the engine, ``i_`` for inputs."""
    ports = {}
    for name, payload in channels.items():
        channel = getattr(bus, name)
        is_output = is_manager == (name in ("aw", "w", "ar"))
        forward, backward = ("o", "i") if is_output else ("i", "o")
        ports[f"{backward}_{prefix}_{name}ready"] = channel.ready
        ports[f"{forward}_{prefix}_{name}valid"] = channel.valid
        for field in payload:
            signal = getattr(channel, field, None)
            if signal is None:  # AXI4-Lite of LiteX has no AxPROT
                signal = Signal(3)
            elif field == "addr" and not is_manager:
                signal = signal[: (REGISTER_BYTES - 1).bit_length()]
            ports[f"{forward}_{prefix}_{name}{field}"] = signal
    return ports
