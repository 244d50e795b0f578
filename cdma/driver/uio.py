"""Registers and interrupt of an engine through a Linux UIO device."""

import ctypes
import mmap
import os
import select

from cdma.driver.errors import DriverError
from cdma.hdl.engine.registers import ADDRESS_BITS


class UioDevice:
    """Accessor of a mapped device, for :class:`~cdma.driver.driver.Driver`.

    Every access is one aligned 32-bit load or store. If the engine refuses an access, the process
    gets a bus error or the access is ignored, depending on the processor's interconnect. On
    processors other than x86, the driver needs a ``barrier``.

    Parameters
    ----------
    path : str
        Device such as ``/dev/uio0``. Its first map is the register port.

    Raises
    ------
    DriverError
        When the device does not exist or cannot be mapped.
    """

    #: The registers are mapped: see :func:`cdma.driver.barrier.choose`.
    is_mapped = True

    def __init__(self, path: str):
        try:
            self._file = os.open(path, os.O_RDWR | os.O_SYNC)
        except OSError as error:
            raise DriverError(f"{path}: cannot open the device ({error.strerror})") from error
        try:
            self._map = mmap.mmap(self._file, 1 << ADDRESS_BITS)
        except (OSError, ValueError) as error:
            os.close(self._file)
            raise DriverError(f"{path}: cannot map its registers ({error})") from error

    def read(self, address: int) -> int:
        """Value of a register."""
        return self._at(address).value

    def write(self, address: int, value: int) -> None:
        """Write a register."""
        self._at(address).value = value

    def wait(self, timeout: float) -> bool:
        """Unmask the interrupt and wait for it. False after ``timeout`` seconds without one."""
        os.write(self._file, (1).to_bytes(4, "little"))
        ready, _, _ = select.select([self._file], [], [], timeout)
        if ready:
            os.read(self._file, 4)
        return bool(ready)

    def close(self) -> None:
        """Unmap the registers and close the device."""
        self._map.close()
        os.close(self._file)

    def _at(self, address: int) -> ctypes.c_uint32:
        if address % 4 or not 0 <= address < 1 << ADDRESS_BITS:
            raise DriverError(f"no register at {address:#x}")
        return ctypes.c_uint32.from_buffer(self._map, address)
