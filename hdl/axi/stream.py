"""AXI4-Stream tops: the units with the port names that vendors' tools infer interfaces from."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cdma.hdl.axi.clock import own_domain
from cdma.hdl.codecs import UnitConfig, checked
from cdma.hdl.zvc.compressor import Compressor
from cdma.hdl.zvc.decompressor import Decompressor
from cdma.hdl.zvcplus.compressor import Compressor as PlusCompressor
from cdma.hdl.zvcplus.decompressor import Decompressor as PlusDecompressor
from cdma.hdl.zvcplus.mixed import MixedCompressor, MixedDecompressor

PREFIXES = {"i_command": "s_axis_cmd", "i": "s_axis", "o": "m_axis", "o_status": "m_axis_sts"}
#: Content of each stream, by unit and member.
MEANINGS = {
    "Compressor": {
        "i": "packets of words; tkeep by whole words",
        "o": "packets of the stream's bytes, dense",
        "o_status": "status, one after each packet: words in, bytes out",
    },
    "Decompressor": {
        "i_command": "command, one for each packet: words to give out",
        "i": "packets of the stream's bytes; tkeep by bytes",
        "o": "packets of words, as many as commanded",
        "o_status": "status, one after each packet: bytes decoded, error code",
    },
}
#: Where it differs in units of several types.
MEANINGS |= {
    "MixedCompressor": {
        **MEANINGS["Compressor"],
        "i_command": "command, one for each packet: number of its type",
    },
    "MixedDecompressor": {
        **MEANINGS["Decompressor"],
        "i_command": "command, one for each packet: words to give out, number of their type",
    },
}
#: Where it differs with a tail of ones.
ENDS_ITSELF = {
    "Decompressor": {
        "o": "packets of words, as many as their streams have",
        "o_status": "status, one after each packet: bytes decoded, words out, error code",
    }
}


class AxiTop(wiring.Component):
    """A unit behind AXI4-Stream ports (Arm IHI 0051), one clock, synchronous active-low reset.

    Adds no logic and no latency: only the ports are renamed. ``docs/interfaces.md`` has the
    tables of ports.

    Parameters
    ----------
    unit : Component
        The compressor or decompressor to wrap, of any codec.

    Members
    -------
    aclk, aresetn : In, clock and reset
    s_axis_*, m_axis_* : packets in and out
    m_axis_sts_* : Out, status
    s_zero : In, when it is one of ``config.constants``: the word that is omitted
    s_axis_cmd_* : In, command (decompressor, with a tail of zeros; units of several types)
    """

    def __init__(self, unit: wiring.Component):
        self.unit = unit
        ports = {"aclk": In(1), "aresetn": In(1)}
        for name, prefix in PREFIXES.items():
            if name not in unit.signature.members:
                continue
            flow = unit.signature.members[name].flow
            for suffix, value, is_forward in self._signals(name):
                ports[f"{prefix}_{suffix}"] = (flow if is_forward else flow.flip())(len(value))
        for name in unit.config.constants:
            ports[name] = In(unit.config.format.word_bits)
        super().__init__(ports)

    def _signals(self, name):
        """Yield suffix, value and whether it flows forward, of one of the unit's streams."""
        port = getattr(self.unit, name)
        if name in ("i", "o"):
            yield "tdata", port.payload.words.as_value(), True
            yield "tkeep", port.payload.keep, True
            yield "tlast", port.payload.last, True
        else:
            yield "tdata", port.payload.as_value(), True
        yield "tvalid", port.valid, True
        yield "tready", port.ready, False

    def streams(self) -> list[tuple[str, str]]:
        """Prefix and meaning of each stream, in the order of the ports."""
        meanings = MEANINGS[type(self.unit).__name__]
        if self.unit.config.format.ends_itself:
            meanings = meanings | ENDS_ITSELF.get(type(self.unit).__name__, {})
        members = self.unit.signature.members
        return [(prefix, meanings[name]) for name, prefix in PREFIXES.items() if name in members]

    def record_fields(self, prefix: str) -> list[dict]:
        """Name, lowest bit and bits of each field of a command or status; none of a packet's."""
        name = next(name for name, each in PREFIXES.items() if each == prefix)
        if name in ("i", "o"):
            return []
        layout = getattr(self.unit, name).payload.shape()
        return [
            {"name": field, "lsb": layout[field].offset, "bits": layout[field].width}
            for field, _ in layout
        ]

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = own_domain(m, self.aclk, self.aresetn)(self.unit)
        for name in self.unit.config.constants:
            m.d.comb += getattr(self.unit, name.removeprefix("s_")).eq(getattr(self, name))
        for name, prefix in PREFIXES.items():
            if name not in self.unit.signature.members:
                continue
            enters = self.unit.signature.members[name].flow is In
            for suffix, value, is_forward in self._signals(name):
                port = getattr(self, f"{prefix}_{suffix}")
                m.d.comb += value.eq(port) if enters == is_forward else port.eq(value)
        return m


#: Units that can be generated, by the name users give.
UNITS = ("compressor", "decompressor")
#: Their components, by codec.
COMPONENTS = {
    "zvc": {"compressor": Compressor, "decompressor": Decompressor},
    "zvcplus": {"compressor": PlusCompressor, "decompressor": PlusDecompressor},
}
#: Of several types.
MIXED = {"compressor": MixedCompressor, "decompressor": MixedDecompressor}


def checked_unit(unit: str) -> str:
    """``unit`` itself; ValueError when it is unknown."""
    if unit not in UNITS:
        raise ValueError(f"Unit must be one of {', '.join(UNITS)}, not {unit!r}")
    return unit


def unit_class(unit: str, config: UnitConfig) -> type[wiring.Component]:
    """The component with this name, of the codec of ``config``.

    Raises
    ------
    TypeError, ValueError
        When ``config`` is none of a unit, the unit is unknown, or the codec has none.
    """
    components = MIXED if checked(config).parts else COMPONENTS[config.codec]
    if checked_unit(unit) not in components:
        raise ValueError(
            f"Unit of codec {config.codec} must be {' or '.join(components)}, not {unit!r}"
        )
    return components[unit]


def top(unit: str, config: UnitConfig) -> AxiTop:
    """The AXI4-Stream top of a unit. For errors see :func:`unit_class`."""
    return AxiTop(unit_class(unit, config)(config))
