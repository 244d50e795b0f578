"""Driver of the DMA engine in Python and C, and a software engine with the same registers."""

from cdma.driver.driver import Driver, Offloaded
from cdma.driver.errors import (
    DriverError,
    EngineError,
    EngineStoppedError,
    EngineTimeoutError,
    RegisterError,
)
from cdma.driver.memory import Buffer, BusError, Memory
from cdma.driver.registers import Registers
from cdma.driver.software import SoftwareDevice
from cdma.driver.uio import UioDevice

__all__ = [
    "Buffer",
    "BusError",
    "Driver",
    "DriverError",
    "EngineError",
    "EngineStoppedError",
    "EngineTimeoutError",
    "Memory",
    "Offloaded",
    "RegisterError",
    "Registers",
    "SoftwareDevice",
    "UioDevice",
]
