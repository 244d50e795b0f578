"""A model whose memories have a byte at every address, so that jobs may lie anywhere."""

import mmap

import numpy as np

from cdma.engine_codes import State
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.sim.engine.engine import DEVICE, HOST, Buffer, Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, EngineModel

#: Of Linux: pages take no memory before they are touched. Python has the name since 3.13.
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


#: Cycles that no job of a trial takes.
_PATIENCE = 40_000


class MarkedModel(EngineModel):
    """A model with attributes of its own for each ring and channel.

    Parameters as of :class:`cdma.sim.engine.model.EngineModel`.
    """

    def _set_up(self):
        for channel in range(self.config.channels):
            self.write("CHANNEL", "QOS", 5 << channel & 15, channel)
        super()._set_up()

    def program(self, ring: int, **windows: int) -> None:
        """Write the registers of a stopped ring, attributes too: user, protection, cache."""
        super().program(ring, **windows)
        self.write("RING", "ATTR", 0x36A5 if ring == OFFLOAD else 0xC55A, ring)

    def wait(self, ring: int, cycles: int = _PATIENCE) -> Completion:
        """As of any model, but a hang is found early, whatever the size of the job."""
        return super().wait(ring, min(cycles, _PATIENCE))

    def until_state(self, ring: int, state: State, cycles: int = _PATIENCE) -> None:
        """As of any model, but a hang is found early."""
        super().until_state(ring, state, min(cycles, _PATIENCE))

    def run_long(self, ring: int, job: Descriptor, cycles: int) -> Completion:
        """The completion of a job that takes longer than others, in up to so many cycles."""
        self.submit(ring, job)
        completion = super().wait(ring, cycles)
        self.acknowledge(ring)
        return completion

    def moves(self) -> list[int]:
        """A digest of what the engine drove in each cycle."""
        return [self.engine.digest]


class OpenModel(MarkedModel):
    """An engine with all of its address space behind each port, mostly zeros.

    The system gives pages when they are touched. No access is outside of a buffer here: only
    the digest of the outputs tells where the engine was.

    Parameters
    ----------
    config, seed, log2, verilog, cache
        As of :class:`cdma.sim.engine.model.EngineModel`.
    device, host : Memory
    rings : int
        Address from which rings are placed.
    """

    def __init__(
        self,
        config: EngineConfig,
        device: Memory,
        host: Memory,
        seed: int,
        *,
        rings: int,
        log2: int = 2,
        verilog: str,
        cache=None,
    ):
        engine = Engine(config, verilog, device, host, seed, cache)
        self._land = {}
        for space in (DEVICE, HOST):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
            pages = mmap.mmap(-1, 1 << config.address_bits, flags=flags)
            self._land[space] = np.frombuffer(pages, np.uint8)
            engine.add(Buffer(space, 0, self._land[space]))
        self._rings_at = rings
        super().__init__(config, seed=seed, log2=log2, engine=engine)

    def allocate(self, space, size, *, align=64, offset=0, fill=None, **access) -> Buffer:
        """The next bytes behind the rings."""
        address = -(-self._rings_at // align) * align + offset
        self._rings_at = address + size
        if fill is not None:
            self.at(space, address, size)[:] = fill
        return Buffer(space, address, self.at(space, address, size))

    def free(self, *buffers) -> None:
        """All bytes stay."""

    def at(self, space: int, address: int, size: int) -> np.ndarray:
        """Bytes of a memory, in place."""
        return self._land[space][address : address + size]
