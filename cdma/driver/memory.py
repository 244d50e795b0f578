"""Memory that driver and engine share, and its allocation."""

from dataclasses import dataclass

import numpy as np

from cdma.driver.errors import DriverError
from cdma.engine_codes import Status


class BusError(Exception):
    """An access that the memory does not answer with OKAY.

    Attributes
    ----------
    address : int
        First byte at fault.
    kind : str
        ``"SLVERR"``, ``"DECERR"`` or ``"HANG"`` (no answer at all).
    """

    def __init__(self, address: int, kind: str):
        super().__init__(f"{kind} at {address:#x}")
        self.address, self.kind = address, kind

    def status(self, is_host: bool) -> Status:
        """Status of a completion."""
        if self.kind == "HANG":
            return Status.TIMEOUT
        side = "HOST" if is_host else "DEVICE"
        return Status[f"{side}_{self.kind}"]


class Memory:
    """Bytes at bus addresses, with a pool to allocate from.

    Parameters
    ----------
    data : ndarray of uint8, shape (bytes,), or int
        The memory, such as a mapped buffer; a number makes one of zeros.
    base : int
        Bus address of its first byte.
    """

    def __init__(self, data: np.ndarray | int, base: int = 0):
        self.data = np.zeros(data, np.uint8) if isinstance(data, int) else data
        self.base = base
        self._faults: list[tuple[int, int, str]] = []
        self._free = [(base, base + len(self.data))]

    @property
    def limit(self) -> int:
        """First bus address past the memory."""
        return self.base + len(self.data)

    def view(self, address: int, size: int) -> np.ndarray:
        """The bytes themselves, uint8 of shape (size,), without any check of faults."""
        if not self.base <= address <= address + size <= self.limit:
            raise DriverError(f"no memory at {address:#x}..{address + size:#x}")
        return self.data[address - self.base : address - self.base + size]

    def fail(self, address: int, size: int, kind: str = "SLVERR") -> None:
        """Answer accesses to these bytes with an error from now on, for tests."""
        self._faults.append((address, address + size, kind))

    def heal(self) -> None:
        """Answer all accesses again."""
        self._faults.clear()

    @property
    def hangs(self) -> bool:
        """Whether some bytes do not answer at all."""
        return any(kind == "HANG" for _, _, kind in self._faults)

    def fault(self, address: int, size: int) -> BusError | None:
        """The first error that an access to these bytes meets; outside the memory DECERR."""
        if size <= 0:
            return None
        end = address + size
        found = [
            (max(address, first), kind)
            for first, last, kind in self._faults
            if first < end and address < last
        ]
        if address < self.base:
            found.append((address, "DECERR"))
        elif end > self.limit:
            found.append((max(address, self.limit), "DECERR"))
        return BusError(*min(found)) if found else None

    def read(self, address: int, size: int) -> np.ndarray:
        """Copy of some bytes. BusError where the memory does not answer."""
        self._check(address, size)
        return self.view(address, size).copy() if size else np.zeros(0, np.uint8)

    def write(self, address: int, data: np.ndarray) -> None:
        """Write bytes. BusError, and nothing is written, where the memory does not answer."""
        self._check(address, len(data))
        if len(data):
            self.view(address, len(data))[:] = data

    def _check(self, address: int, size: int) -> None:
        fault = self.fault(address, size)
        if fault is not None:
            raise fault

    def allocate(self, size: int, alignment: int = 64) -> "Buffer":
        """Some free bytes, the first that fit.

        Raises
        ------
        DriverError
            When no free part is long enough.
        """
        size = max(size, 1)
        for number, (start, end) in enumerate(self._free):
            first = -(-start // alignment) * alignment
            if first + size <= end:
                parts = [(start, first), (first + size, end)]
                self._free[number : number + 1] = [part for part in parts if part[0] < part[1]]
                return Buffer(self, first, size)
        raise DriverError(f"no {size} bytes left of {len(self.data)} bytes of memory")

    def release(self, buffer: "Buffer") -> None:
        """Take a buffer back."""
        parts = sorted([*self._free, (buffer.address, buffer.address + buffer.size)])
        merged = [parts[0]]
        for start, end in parts[1:]:
            if start < merged[-1][1]:
                raise DriverError(f"buffer at {buffer.address:#x} was released before")
            if start == merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
        self._free = merged

    @property
    def free_bytes(self) -> int:
        """Bytes that are not allocated."""
        return sum(end - start for start, end in self._free)


@dataclass(frozen=True)
class Buffer:
    """Allocated bytes: ``size`` bytes of ``memory`` from bus address ``address`` on."""

    memory: Memory
    address: int
    size: int

    @property
    def data(self) -> np.ndarray:
        """The bytes, uint8 of shape (size,); writing changes the memory."""
        return self.memory.view(self.address, self.size)
