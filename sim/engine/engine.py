"""The compiled engine with its memories: registers, buffers, faults, cycles."""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build, pins
from cdma.sim.engine.limits import port_limits
from cdma.sim.engine.memory import Memory

DEVICE, HOST = 0, 1
_CYCLES, _BYTE, _IRQ, _ACCESS, _FAILED = range(5)
#: Most cycles that a register access may take.
ACCESS_CYCLES = 200


@dataclass(frozen=True)
class Buffer:
    """Bytes of the device's or the host's memory that the engine may access.

    Attributes
    ----------
    space : int
        ``DEVICE`` or ``HOST``.
    address : int
        Address of the first byte.
    data : np.ndarray of uint8
        The bytes. The simulation reads and writes them in place.
    """

    space: int
    address: int
    data: np.ndarray

    @property
    def end(self) -> int:
        """Address of the first byte past the buffer."""
        return self.address + self.data.size


def memory_of(
    config: EngineConfig, number: int, device: Memory | Sequence[Memory], host: Memory
) -> Memory:
    """The memory behind a port.

    Raises
    ------
    ValueError
        When ``device`` is a sequence of another length than the number of channels.
    """
    if number == config.channels:
        return host
    if isinstance(device, Memory):
        return device
    if len(device) != config.channels:
        raise ValueError(
            f"Device must be one memory or one for each of {config.channels} channels, "
            f"not {len(device)}"
        )
    return device[number]


class Engine:
    """One engine, from power-up on.

    Every port is checked in every cycle: the rules of AXI4 and of the engine (``rules.h``), and no
    access to bytes outside of the buffers. A read may include bytes outside of a buffer only in a
    beat with bytes of the buffer.

    Parameters
    ----------
    config : EngineConfig
    design : str or Compiled
        The Verilog, or a model that was built.
    device : Memory or sequence of Memory
        Memory of all channels, or of each channel.
    host : Memory
    seed : int
        Seed of memories, and of the gaps before BREADY and RREADY.
    power_up : int or None
        Seed of what registers and memories hold before the reset. ``None`` is ``seed``.
    cache, progress, has_waves
        See :func:`cdma.sim.engine.build.build`.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.build.build`.
    ValueError
        See :func:`memory_of`.
    """

    def __init__(
        self,
        config: EngineConfig,
        design: str | build.Compiled,
        device: Memory | Sequence[Memory],
        host: Memory,
        seed: int = 0,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
        *,
        waves: str | os.PathLike | None = None,
        power_up: int | None = None,
    ):
        self.config = config
        compiled = build.compiled(design, cache, progress, has_waves=waves is not None)
        self._library = _load(compiled.library)
        self._engine = self._library.engine_new(
            1 + (seed if power_up is None else power_up) % (1 << 30), seed
        )
        self._buffers: dict[tuple[int, int], Buffer] = {}
        self._kept = []
        names = compiled.managers
        self.ports = {name: number for number, name in enumerate(names)}
        if waves is not None:
            self._library.engine_open_waves(self._engine, str(waves).encode())
        for number, name in enumerate(names):
            self._set_port(number, name, device, host, seed)
        self.reset()

    def _set_port(self, number, name, device, host, seed):
        config = self.config
        limits = port_limits(config, number)
        timing, kept = memory_of(config, number, device, host).timing(seed, number)
        self._kept.append(kept)
        space = HOST if number == config.channels else DEVICE
        arguments = (ctypes.byref(limits), ctypes.byref(timing), 1000 * seed + number)
        self._library.engine_set_port(self._engine, number, name.encode(), space, *arguments)

    def close(self) -> None:
        """Free the model. Then the waveforms are complete."""
        if self._engine is not None:
            self._library.engine_delete(self._engine)
            self._engine = None

    def __del__(self):
        if getattr(self, "_engine", None) is not None:
            self.close()

    @property
    def link(self) -> int:
        """Number of the link's port. A channel's port has the number of the channel."""
        return self.config.channels

    @property
    def cycle(self) -> int:
        """Cycles since power-up."""
        return self._library.engine_cycle(self._engine)

    @property
    def irq(self) -> int:
        """The interrupt line."""
        return self._library.engine_irq(self._engine)

    @property
    def digest(self) -> int:
        """A digest of what the engine drove in each cycle since power-up, but in reset.

        Fields of an AXI channel count while its VALID is high, bytes of write data where they are
        enabled.
        """
        return self._library.engine_digest(self._engine)

    def reset(self, cycles: int = 4) -> None:
        """Hold ``aresetn`` low for some cycles. Memories drop outstanding transactions."""
        self._library.engine_reset(self._engine, 1)
        self.run(cycles)
        self._library.engine_reset(self._engine, 0)
        self.run(1)

    def add(self, buffer: Buffer, *, readable: bool = True, writable: bool = True) -> None:
        """Allow the engine to access a buffer in place. ``data`` must stay at its address."""
        data = buffer.data
        assert data.dtype == np.uint8
        assert data.flags.c_contiguous
        self._buffers[buffer.space, buffer.address] = buffer
        access = readable | writable << 1
        pointer = data.ctypes.data
        arguments = (buffer.space, buffer.address, data.size, pointer, access)
        self._library.engine_add_buffer(self._engine, *arguments)

    def remove(self, buffer: Buffer) -> None:
        """Forbid access to a buffer."""
        del self._buffers[buffer.space, buffer.address]
        self._library.engine_remove_buffer(self._engine, buffer.space, buffer.address)

    def fault(
        self,
        space: int,
        address: int,
        size: int = 1,
        *,
        response: int = 0,
        delay: int = 0,
        count: int = -1,
        on: str = "both",
    ) -> None:
        """Add error responses or delays to accesses of some bytes.

        Parameters
        ----------
        space, address, size : int
            The bytes.
        response : int
            2 SLVERR, 3 DECERR: response of each read beat and each write burst with one of these
            bytes. The data of such a read beat is random, such a write beat is not written.
        delay : int
            Additional cycles until the response of a burst.
        count : int
            Number of beats with this response, and of bursts with this delay. Negative for all.
        on : str
            ``read``, ``write`` or ``both``.
        """
        # One of each, as both count.
        for kind in ({"response": response}, {"delay": delay}):
            if any(kind.values()):
                fault = pins.Fault(
                    first=address,
                    last=address + size - 1,
                    count=count,
                    on_read=on != "write",
                    on_write=on != "read",
                    **kind,
                )
                self._library.engine_add_fault(self._engine, space, ctypes.byref(fault))

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._library.engine_clear_faults(self._engine)

    def hold(self, port: int, channel: str, cycles: int) -> None:
        """Stall a channel of a port for some cycles from now on."""
        number = pins.CHANNELS.index(channel)
        self._library.engine_hold(self._engine, port, number, self.cycle + cycles)

    def run(
        self,
        cycles: int,
        *,
        byte: tuple[np.ndarray, int] | None = None,
        mask: int = 0xFF,
        value: int = 0,
        irq: bool = False,
    ) -> bool:
        """Run for some cycles, or until a condition is true. Returns whether it was true.

        Parameters
        ----------
        cycles : int
            Most cycles.
        byte, mask, value
            Stop when ``byte[0][byte[1]] & mask == value``.
        irq : bool
            Stop when the interrupt line is 1.

        Raises
        ------
        Violation
            When the engine violates a rule, or accesses a byte outside of the buffers.
        """
        stop = pins.Stop(cycles=cycles, mask=mask, value=value, irq=irq)
        if byte is not None:
            stop.byte = byte[0].ctypes.data + byte[1]
        return self._run(stop) in (_BYTE, _IRQ)

    def access(
        self, address: int, data: int | None = None, *, strobe: int = 15, order: int = 0
    ) -> pins.Access:
        """Read (or, with ``data``, write) a register. Returns response, data and cycles.

        ``order`` of a write: 0 address and data together, 1 address first, 2 data first; the second
        follows the handshake of the first, mostly at once.

        Raises
        ------
        Violation
            See :meth:`run`. Also when there is no response.
        """
        access = pins.Access(address=address, data=data or 0, write=data is not None)
        access.strobe, access.order = strobe, order
        self._library.engine_access(self._engine, ctypes.byref(access))
        self._run(pins.Stop(cycles=ACCESS_CYCLES, access=1))
        if access.done < 0:
            self._library.engine_drop_access(self._engine)
            raise Violation(f"s_axil: no answer from {address:#x} in {ACCESS_CYCLES} cycles")
        return access

    def counts(self, port: int) -> dict[str, int]:
        """Bursts, beats and bytes of a port so far."""
        counts = self._library.engine_counts(self._engine, port).contents
        return {name: getattr(counts, name) for name, _ in pins.Counts._fields_}

    def start_log(self, port: int) -> None:
        """Log addresses and responses of a port from now on."""
        self._library.engine_log(self._engine, port, 1)

    def log(self, port: int) -> np.ndarray:
        """The logged events, as an array of ``pins.EVENT``. Clears the log."""
        size = self._library.engine_log_size(self._engine, port)
        data = ctypes.string_at(
            self._library.engine_log_data(self._engine, port), size * pins.EVENT.itemsize
        )
        self._library.engine_log(self._engine, port, 1)
        return np.frombuffer(data, pins.EVENT)

    def _run(self, stop):
        reason = self._library.engine_run(self._engine, ctypes.byref(stop))
        if reason == _FAILED:
            raise Violation(self._library.engine_failure(self._engine).decode())
        return reason


def _load(path: Path):
    library = ctypes.CDLL(str(path))
    pointer = ctypes.c_void_p
    signatures = {
        "engine_new": (pointer, [ctypes.c_int, ctypes.c_uint64]),
        "engine_delete": (None, [pointer]),
        "engine_set_port": (
            None,
            [
                pointer,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_int,
                pointer,
                pointer,
                ctypes.c_uint64,
            ],
        ),
        "engine_add_buffer": (
            None,
            [pointer, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, pointer, ctypes.c_int],
        ),
        "engine_remove_buffer": (None, [pointer, ctypes.c_int, ctypes.c_uint64]),
        "engine_add_fault": (None, [pointer, ctypes.c_int, pointer]),
        "engine_clear_faults": (None, [pointer]),
        "engine_hold": (None, [pointer, ctypes.c_int, ctypes.c_int, ctypes.c_int64]),
        "engine_reset": (None, [pointer, ctypes.c_int]),
        "engine_cycle": (ctypes.c_int64, [pointer]),
        "engine_irq": (ctypes.c_int, [pointer]),
        "engine_digest": (ctypes.c_uint64, [pointer]),
        "engine_failure": (ctypes.c_char_p, [pointer]),
        "engine_counts": (ctypes.POINTER(pins.Counts), [pointer, ctypes.c_int]),
        "engine_log": (None, [pointer, ctypes.c_int, ctypes.c_int]),
        "engine_log_size": (ctypes.c_int64, [pointer, ctypes.c_int]),
        "engine_log_data": (pointer, [pointer, ctypes.c_int]),
        "engine_access": (None, [pointer, pointer]),
        "engine_drop_access": (None, [pointer]),
        "engine_run": (ctypes.c_int, [pointer, pointer]),
        "engine_open_waves": (None, [pointer, ctypes.c_char_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name, None)  # only models with waveforms have all of them
        if function is not None:
            function.restype, function.argtypes = result, arguments
    return library
