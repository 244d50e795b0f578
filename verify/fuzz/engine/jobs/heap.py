"""Memory of random jobs: bytes at addresses of the whole range, kept in one array for each space.

A round's bytes are compared at once: those that its jobs must have written, and all others, which
must be as before.
"""

from dataclasses import dataclass
from random import Random

import numpy as np

from cdma.engine_config import EngineConfig

#: Bytes of an array.
POOL_BYTES = 1 << 21
#: log2 of the bytes of a window of addresses. A buffer lies in one window.
_WINDOW = 24
#: Share of the buffers that lie in another window than the buffer before.
_JUMPS = 0.1


@dataclass(frozen=True, eq=False)
class Part:
    """A buffer of a job.

    Attributes
    ----------
    space, address : int
    at : int
        Place of the first byte in the array of the space.
    data : np.ndarray of uint8
        The bytes, in place.
    readable, writable : bool
        What the engine may do.
    ring : int
        Ring of its job.
    """

    space: int
    address: int
    at: int
    data: np.ndarray
    readable: bool
    writable: bool
    ring: int

    @property
    def end(self) -> int:
        """Address of the first byte past the buffer."""
        return self.address + self.data.size


class Heap:
    """Addresses of buffers, and the bytes behind them.

    Parameters
    ----------
    config : EngineConfig
    rng : np.random.Generator
        For the noise that all bytes begin with.
    """

    def __init__(self, config: EngineConfig, rng: np.random.Generator):
        # With 64 bits of address, no window of a ring has the last byte.
        self._windows = (1 << config.address_bits - _WINDOW) - (config.address_bits == 64)
        self._pools = [rng.integers(256, size=POOL_BYTES, dtype=np.uint8) for _ in range(2)]
        self._taken: list[set[int]] = [set(), set()]
        self._next = [0, 0]
        self.begin(Random(0))

    def begin(self, random: Random, *, are_apart: bool = False) -> None:
        """Begin a round: forget its buffers.

        Parameters
        ----------
        random : Random
            Draws all addresses of the round.
        are_apart : bool
            No beat has bytes of two buffers.
        """
        self._random = random
        self._gaps = (128, 513, 4096) if are_apart else (1, 64, 513, 4096)
        self.parts: list[Part] = []
        self._used = [0, 0]
        self._end = [0, 0]

    @property
    def room(self) -> int:
        """Bytes that are left in each array, at least."""
        return POOL_BYTES - max(self._used)

    def address(self, space: int, size: int, align: int = 64, offset: int = 0) -> int:
        """An address that no buffer has: a multiple of ``align``, plus ``offset``."""
        first = -(-self._next[space] // align) * align + offset
        if first + size > self._end[space] or self._random.random() < _JUMPS:
            first = self._jump(space, align) + offset
        self._next[space] = first + size + self._random.choice(self._gaps)
        return first

    def _jump(self, space, align):
        """An address in a window that was not used in this run."""
        taken = self._taken[space]
        while (window := self._random.randrange(self._windows)) in taken:
            pass
        taken.add(window)
        base = window << _WINDOW
        self._end[space] = base + (1 << _WINDOW)
        kind = self._random.random()
        if kind < 0.1:  # from the first address of the window on
            return -(-base // align) * align
        return -(-(base + self._random.randrange(1 << _WINDOW - 1)) // align) * align

    def place(
        self,
        space: int,
        size: int,
        ring: int,
        *,
        align: int = 64,
        offset: int = 0,
        readable: bool = False,
        writable: bool = False,
    ) -> Part:
        """A buffer of this round. Its bytes are noise."""
        at = self._used[space]
        self._used[space] = at + size
        data = self._pools[space][at : at + size]
        address = self.address(space, size, align, offset)
        part = Part(space, address, at, data, readable, writable, ring)
        self.parts.append(part)
        return part

    def copy(self) -> list[np.ndarray]:
        """All bytes of the round, as they are now."""
        return [pool[:used].copy() for pool, used in zip(self._pools, self._used, strict=True)]

    def now(self, space: int) -> np.ndarray:
        """All bytes of the round in a space, in place."""
        return self._pools[space][: self._used[space]]
