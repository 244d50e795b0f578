"""Memory shared by driver and engine, with an allocator."""

from dataclasses import dataclass

import numpy as np

from cdma.driver.errors import DriverError
from cdma.engine_codes import Status


class BusError(Exception):
    """A memory access with a response other than OKAY.

    Attributes
    ----------
    address : int
        First byte with the error.
    kind : str
        ``"SLVERR"``, ``"DECERR"`` or ``"HANG"`` (no response).
    """

    def __init__(self, address: int, kind: str):
        super().__init__(f"{kind} at {address:#x}")
        self.address, self.kind = address, kind

    def status(self, is_host: bool) -> Status:
        """Status of a completion with this error."""
        if self.kind == "HANG":
            return Status.TIMEOUT
        side = "HOST" if is_host else "DEVICE"
        return Status[f"{side}_{self.kind}"]


class Memory:
    """Bytes at bus addresses, with an allocator.

    Parameters
    ----------
    data : ndarray of uint8, shape (bytes,), or int
        The memory, such as a mapped buffer. A number allocates this many zero bytes.
    base : int
        Bus address of the first byte.
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
        """View of the bytes, uint8 of shape (size,). Ignores injected faults."""
        if not self.base <= address <= address + size <= self.limit:
            raise DriverError(f"no memory at {address:#x}..{address + size:#x}")
        return self.data[address - self.base : address - self.base + size]

    def fail(self, address: int, size: int, kind: str = "SLVERR") -> None:
        """Inject a fault: accesses to these bytes get an error response, for tests."""
        self._faults.append((address, address + size, kind))

    def heal(self) -> None:
        """Remove all injected faults."""
        self._faults.clear()

    @property
    def hangs(self) -> bool:
        """Whether accesses to some bytes get no response."""
        return any(kind == "HANG" for _, _, kind in self._faults)

    def fault(self, address: int, size: int) -> BusError | None:
        """First error of an access to these bytes; DECERR outside the memory."""
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
        """Copy of the bytes. Raises BusError on a fault."""
        self._check(address, size)
        return self.view(address, size).copy() if size else np.zeros(0, np.uint8)

    def write(self, address: int, data: np.ndarray) -> None:
        """Write bytes. On a fault, raises BusError and writes nothing."""
        self._check(address, len(data))
        if len(data):
            self.view(address, len(data))[:] = data

    def _check(self, address: int, size: int) -> None:
        fault = self.fault(address, size)
        if fault is not None:
            raise fault

    def allocate(self, size: int, alignment: int = 64) -> "Buffer":
        """Allocate bytes, at the first free place that fits.

        Raises
        ------
        DriverError
            When no free place is large enough.
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
        """Free a buffer."""
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
        """Number of free bytes."""
        return sum(end - start for start, end in self._free)


@dataclass(frozen=True)
class Buffer:
    """Allocated memory: ``size`` bytes of ``memory`` at bus address ``address``."""

    memory: Memory
    address: int
    size: int

    @property
    def data(self) -> np.ndarray:
        """View of the bytes, uint8 of shape (size,). Writes change the memory."""
        return self.memory.view(self.address, self.size)
