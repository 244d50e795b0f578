"""Registers by name, over any accessor of 32-bit words."""

from typing import Protocol

from cdma import zvcplus
from cdma.driver.errors import DriverError
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.registers import CODECS, ID, MAJOR, Map, register_map


class Accessor(Protocol):
    """Reads and writes 32-bit registers at byte addresses.

    Examples are a simulation, a mapped UIO device and
    :class:`~cdma.driver.software.device.SoftwareDevice`. Both methods may raise
    :class:`~cdma.driver.errors.RegisterError`. An accessor of mapped registers sets its attribute
    ``is_mapped``, so that the driver asks for a barrier where the processor needs one.
    """

    def read(self, address: int) -> int:
        """Value of the register."""

    def write(self, address: int, value: int) -> None:
        """Write the register."""


class Registers:
    """The registers of one engine, by block, name and instance.

    Parameters
    ----------
    accessor : Accessor
        Access to the registers.

    Raises
    ------
    DriverError
        When the device is not an engine, or its register map has another major version.
    """

    def __init__(self, accessor: Accessor):
        self._accessor = accessor
        self._map = register_map(EngineConfig(channels=1))
        found = self.read("ENGINE", "ID")
        if found != ID:
            raise DriverError(f"device has ID {found:#010x}, not {ID:#010x}: it is no cdma engine")
        major = self.field("ENGINE", "VERSION", "MAJOR")
        if major != MAJOR:
            raise DriverError(f"register map has version {major}, this driver knows {MAJOR}")
        self.config = self._read_config()
        self._map = register_map(self.config)

    @property
    def map(self) -> Map:
        """The register table of this engine."""
        return self._map

    def read(self, block: str, name: str, instance: int = 0) -> int:
        """Value of a register."""
        return self._accessor.read(self._map.block(block).address(name, instance))

    def write(self, block: str, name: str, value: int, instance: int = 0) -> None:
        """Write a register."""
        self._accessor.write(self._map.block(block).address(name, instance), value)

    def field(self, block: str, name: str, field: str, instance: int = 0) -> int:
        """Value of a field."""
        return self.fields(block, name, instance)[field]

    def fields(self, block: str, name: str, instance: int = 0) -> dict[str, int]:
        """Values of all fields, from one read."""
        value = self.read(block, name, instance)
        fields = self._map.block(block).register(name).fields
        return {field.name: (value & field.mask) >> field.low for field in fields}

    @property
    def has_failed_link(self) -> bool:
        """Whether the link has timed out: no ring recovers."""
        return self.field("ENGINE", "STATUS", "FATAL") != 0

    def read_pair(self, block: str, name: str, instance: int = 0) -> int:
        """Value of a pair ``<name>_LO``, ``<name>_HI``."""
        low = self.read(block, f"{name}_LO", instance)
        return low | self.read(block, f"{name}_HI", instance) << 32

    def write_pair(self, block: str, name: str, value: int, instance: int = 0) -> None:
        """Write a pair ``<name>_LO``, ``<name>_HI``."""
        self.write(block, f"{name}_LO", value & 0xFFFFFFFF, instance)
        self.write(block, f"{name}_HI", value >> 32, instance)

    def counters(self) -> dict[str, int]:
        """Snapshot of all counters, by name such as ``CYCLES`` or ``RAW_BEATS_0``."""
        self.write("ENGINE", "SNAPSHOT", 1)
        while self.read("ENGINE", "SNAPSHOT") & 1:
            pass
        found = {}
        for block in (self._map.block("COUNTERS"), self._map.block("CHANNEL_COUNTERS")):
            names = [each.name[:-3] for each in block.registers if each.name.endswith("_LO")]
            for name in names:
                for instance in range(block.count):
                    key = name if block.name == "COUNTERS" else f"{name}_{instance}"
                    found[key] = self.read_pair(block.name, name, instance)
        return found

    def _read_config(self) -> EngineConfig:
        """Size of the engine, from its capability registers."""

        def power(register, field):
            return 1 << self.field("ENGINE", register, field)

        codecs = {number: name for name, number in CODECS.items()}
        codec = codecs.get(self.field("ENGINE", "CAP1", "CODEC"))
        if codec is None:
            raise DriverError("the engine has a codec that this driver does not know")
        plus = {}
        if codec == "zvcplus":
            types = {each.number: each.name for each in zvcplus.TYPES.values()}
            plus = {"codec": codec, "type": types.get(self.field("ENGINE", "CAP0", "TYPE"))}
        return EngineConfig(
            channels=power("CAP0", "CHANNELS"),
            lanes=power("CAP0", "LANES"),
            word_bits=8 * power("CAP0", "WORD"),
            stripe_bytes=power("CAP0", "STRIPE"),
            link_bytes=power("CAP0", "LINK"),
            block_words=power("CAP1", "BLOCK"),
            address_bits=32 + self.field("ENGINE", "CAP1", "ADDRESS"),
            stage_bytes=power("CAP1", "STAGE"),
            queue_bytes=power("CAP1", "QUEUE"),
            link_fifo_bytes=power("CAP2", "LINK_FIFO"),
            **plus,
        )
