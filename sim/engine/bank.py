"""The C++ models of memories and registers with pins for Python: for cocotb and for tests."""

import ctypes
import os
from pathlib import Path

import numpy as np

from cdma.sim.cocotb.ports import Violation
from cdma.sim.compiled.build import COMPILE
from cdma.sim.engine import build, pins
from cdma.sim.engine.memory import Memory
from cdma.toolchain import verilator
from cdma.toolchain.cache import cache_folder, digest, kept

_MOST_BEAT_BYTES = 128


class Address(ctypes.Structure):
    """``axi.h``."""

    _fields_ = (
        ("addr", ctypes.c_uint64),
        ("id", ctypes.c_uint16),
        ("user", ctypes.c_uint16),
        *[
            (name, ctypes.c_uint8)
            for name in ("valid", "len", "size", "burst", "lock", "cache", "prot", "qos")
        ],
    )


class Ask(ctypes.Structure):
    """``axi.h``: pins that the manager drives."""

    _fields_ = (
        ("ar", Address),
        ("aw", Address),
        ("wstrb", ctypes.c_uint8 * 16),
        ("wdata", ctypes.c_uint8 * _MOST_BEAT_BYTES),
        *[(name, ctypes.c_uint8) for name in ("wvalid", "wlast", "rready", "bready")],
        ("pad", ctypes.c_uint8 * 4),
    )


class Answer(ctypes.Structure):
    """``axi.h``: pins that the memory drives."""

    _fields_ = (
        ("rdata", ctypes.c_uint8 * _MOST_BEAT_BYTES),
        ("rid", ctypes.c_uint16),
        ("bid", ctypes.c_uint16),
        *[
            (name, ctypes.c_uint8)
            for name in ("arready", "awready", "wready", "rvalid", "rlast", "rresp")
        ],
        *[(name, ctypes.c_uint8) for name in ("bvalid", "bresp")],
        ("pad", ctypes.c_uint8 * 4),
    )


def library(cache: str | os.PathLike | None = None) -> Path:
    """The memory model as a shared library, built once.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.build.build`.
    """
    env = verilator.environment()
    folder = Path(__file__).parent
    flags = [*COMPILE, f"-I{folder}", f"-I{folder.parent / 'compiled'}"]
    source = folder / "memory.cpp"

    def make(work):
        out = work / "out"
        out.mkdir()
        target = ["-shared", "-o", str(out / "memory.so")]
        verilator.compile_cpp([*flags, str(source), *target], work, env, "the memory model")

    texts = [path.read_text() for path in (*build.SOURCES, source)]
    name = digest("memory", texts, verilator.versions(env), COMPILE)
    return kept(cache_folder(cache, "builds"), name, make) / "memory.so"


class Bank:
    """An address space with one or more AXI4 ports. The bench calls ``tick`` of each port.

    Parameters
    ----------
    memory : Memory
        Timing of all ports.
    seed : int
    """

    def __init__(self, memory: Memory, seed: int = 0):
        self._library = _load(library())
        self._bank = self._library.bank_new()
        self._memory, self._seed, self._kept = memory, seed, []
        self._answers: list[Answer] = []

    def add_port(
        self,
        name: str,
        limits: pins.Limits,
        memory: Memory | None = None,
        draw: int | None = None,
    ) -> int:
        """Add a port with its name for messages. Returns its number.

        ``memory`` is the timing of this port. ``draw`` and the seed determine its random values.
        """
        draw = len(self._answers) if draw is None else draw
        timing, kept_alive = (memory or self._memory).timing(self._seed, draw)
        self._kept.append(kept_alive)
        self._answers.append(Answer())
        arguments = (ctypes.byref(limits), ctypes.byref(timing), 1000 * self._seed + draw)
        return self._library.bank_add_port(self._bank, name.encode(), *arguments)

    def add_buffer(self, address: int, data: np.ndarray, *, readable=True, writable=True) -> None:
        """Allow access to bytes in place."""
        self._kept.append(data)
        access = readable | writable << 1
        self._library.bank_add_buffer(self._bank, address, data.size, data.ctypes.data, access)

    def remove_buffer(self, address: int) -> None:
        """Forbid access to bytes."""
        self._library.bank_remove_buffer(self._bank, address)

    def add_fault(self, **fields) -> None:
        """See :meth:`cdma.sim.engine.engine.Engine.fault`. Arguments: fields of ``pins.Fault``."""
        self._library.bank_add_fault(self._bank, ctypes.byref(pins.Fault(**fields)))

    def answer(self, port: int) -> Answer:
        """Values that the memory drives now."""
        return self._answers[port]

    def counts(self, port: int) -> dict[str, int]:
        """Bursts, beats and bytes of a port so far."""
        counts = self._library.bank_counts(self._bank, port).contents
        return {name: getattr(counts, name) for name, _ in pins.Counts._fields_}

    def tick(self, port: int, ask: Ask, cycle: int, *, reset: int = 0) -> Answer:
        """Process one clock edge, with the values that the manager drove before the edge.

        ``reset`` is 0 without reset, 2 in the first cycle of a reset, then 1.

        Raises
        ------
        Violation
            When the manager violates a rule.
        """
        answer = self._answers[port]
        arguments = (ctypes.byref(ask), ctypes.byref(answer), cycle, reset)
        if not self._library.bank_tick(self._bank, port, *arguments):
            raise Violation(self._library.bank_failure(self._bank).decode())
        return answer

    def __del__(self):
        if getattr(self, "_bank", None):
            self._library.bank_delete(self._bank)


class Lite:
    """Manager of an AXI4-Lite port, one access at a time. The bench connects ``pins``.

    Parameters
    ----------
    seed : int
        Seed of the gaps before BREADY and RREADY.
    """

    def __init__(self, seed: int = 0):
        self._library = _load(library())
        self._registers = self._library.registers_new(seed)
        self.pins = self._library.registers_pins(self._registers).contents

    @property
    def is_busy(self) -> bool:
        """Whether an access has no response yet."""
        return bool(self._library.registers_busy(self._registers))

    def begin(self, access: pins.Access) -> None:
        """Begin an access. A reference is kept until the access is done."""
        self._access = access
        self._library.registers_begin(self._registers, ctypes.byref(access))

    def tick(self, cycle: int, *, reset: int = 0) -> None:
        """Process one clock edge. Violation when the engine violates a rule.

        ``reset`` is 0 without reset, 2 in the first cycle of a reset, then 1. A reset drops an
        access, and begins the gaps anew.
        """
        if not self._library.registers_tick(self._registers, cycle, reset):
            raise Violation(self._library.registers_failure(self._registers).decode())

    def __del__(self):
        if getattr(self, "_registers", None):
            self._library.registers_delete(self._registers)


def _load(path):
    found = ctypes.CDLL(str(path))
    pointer, number = ctypes.c_void_p, ctypes.c_int
    signatures = {
        "bank_new": (pointer, []),
        "bank_delete": (None, [pointer]),
        "bank_add_port": (number, [pointer, ctypes.c_char_p, pointer, pointer, ctypes.c_uint64]),
        "bank_add_buffer": (
            None,
            [pointer, ctypes.c_uint64, ctypes.c_uint64, pointer, number],
        ),
        "bank_remove_buffer": (None, [pointer, ctypes.c_uint64]),
        "bank_add_fault": (None, [pointer, pointer]),
        "bank_counts": (ctypes.POINTER(pins.Counts), [pointer, number]),
        "bank_failure": (ctypes.c_char_p, [pointer]),
        "registers_new": (pointer, [ctypes.c_uint64]),
        "registers_delete": (None, [pointer]),
        "registers_pins": (ctypes.POINTER(pins.LitePins), [pointer]),
        "registers_begin": (None, [pointer, pointer]),
        "registers_busy": (number, [pointer]),
        "registers_failure": (ctypes.c_char_p, [pointer]),
        "registers_tick": (number, [pointer, ctypes.c_int64, number]),
        "bank_tick": (number, [pointer, number, pointer, pointer, ctypes.c_int64, number]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found
