"""One run of a compiled model: input, output, and the structs of the C++ interface."""

import contextlib
import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cdma.sim.backpressure import Profile

#: Struct ``Packet`` of ``streams.h``: end of a packet's bytes, and the cycles of its transfer.
PACKET = np.dtype([(name, np.int64) for name in ("end", "beats", "first_cycle", "last_cycle")])

#: Cycles of a trace that are collected at a time.
_TRACED_CYCLES = 1 << 14


class _Stall(ctypes.Structure):
    _fields_ = (
        *[(name, ctypes.c_int64) for name in ("on", "off", "phase", "pause", "at")],
        ("p", ctypes.c_double),
        ("draw", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
    )


class _Port(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("stall", _Stall),
        *[(name, ctypes.c_void_p) for name in ("data", "offsets", "out")],
        ("capacity", ctypes.c_int64),
        ("packets", ctypes.c_void_p),
        *[(name, ctypes.c_int64) for name in ("count", "done", "stalls")],
    )


#: Ports of ``Job`` in ``model.cpp``: field, prefix, name of the back-pressure.
PORTS = (
    ("source", "s_axis", "source"),
    ("command", "s_axis_cmd", "command"),
    ("sink", "m_axis", "sink"),
    ("status", "m_axis_sts", "status"),
    ("link", "link", None),
    ("link_status", "m_axis_csts", "status"),
)


class Job(ctypes.Structure):
    _fields_ = (
        *[(name, _Port) for name, _, _ in PORTS],
        ("junk", ctypes.c_uint64),
        ("patience", ctypes.c_int64),
        ("reset_cycles", ctypes.c_int64),
        ("trace", ctypes.c_void_p),
        ("cycle", ctypes.c_int64),
        ("failure", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class Fed:
    """Input of a unit, with its back-pressure.

    Attributes
    ----------
    data : np.ndarray of uint8, shape (bytes,), contiguous
        Bytes of all packets, concatenated.
    offsets : np.ndarray of int64, shape (packets + 1,)
        Position of each packet in ``data``, and the end of the last packet.
    counts : np.ndarray of uint32, shape (packets,), or None
        Number of words in each packet, for a unit whose commands have it.
    profiles : mapping of str to Profile
        Back-pressure of each of ``backpressure.PORTS``.
    seed : int
        Seeds back-pressure, junk, and registers without reset.
    is_dirty : bool
        See :class:`cdma.sim.job.Stimulus`.
    types : np.ndarray of uint8, shape (packets,), or None
        Number of the type of each packet, for a unit of several types.
    """

    data: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray | None
    profiles: Mapping[str, Profile]
    seed: int = 0
    is_dirty: bool = False
    types: np.ndarray | None = None

    @property
    def commands(self) -> np.ndarray | None:
        """Bytes of all commands, shape (packets, bytes), or ``None`` without commands."""
        fields = []
        if self.counts is not None:
            fields.append(np.ascontiguousarray(self.counts, "<u4").view(np.uint8).reshape(-1, 4))
        if self.types is not None:
            fields.append(np.asarray(self.types, np.uint8).reshape(-1, 1))
        return np.ascontiguousarray(np.concatenate(fields, axis=1)) if fields else None


@dataclass(frozen=True)
class Crossed:
    """Packets that crossed a port.

    Attributes
    ----------
    data : np.ndarray of uint8, shape (bytes,)
        Bytes of all packets (records), concatenated.
    packets : np.ndarray of PACKET, shape (packets,)
        Complete packets.
    expected : int
        Expected number of packets.
    stalls : int
        Cycles with ``tvalid`` and without ``tready``.
    """

    data: np.ndarray
    packets: np.ndarray
    expected: int
    stalls: int


@dataclass(frozen=True)
class Played:
    """Results of a run: the transfers at each port, by its prefix, the length in cycles, and the
    failure.

    The optional ``trace`` has the pins of all ports before each clock edge: a structured array of
    shape (cycles,) with a field for each port. The field contains ``valid``, ``ready`` and
    ``data``, for packets also ``last`` and ``keep``. All are bytes.
    """

    ports: dict[str, Crossed]
    cycles: int
    failure: str
    trace: np.ndarray | None = None


@dataclass
class Run:
    """A running job.

    Attributes
    ----------
    job : Job
        State of the job.
    arrays : dict of str to dict of str to np.ndarray
        Buffers, by field of ``Job`` and of its ports.
    trace_type : np.dtype or None
        Type of :attr:`Played.trace`, or ``None`` for no trace.
    """

    job: Job
    arrays: dict
    trace_type: np.dtype | None
    _traces: list = field(default_factory=list)

    @contextlib.contextmanager
    def traced(self, limit: int):
        """Trace the cycles that are simulated in the context. Returns their limit."""
        if self.trace_type is None:
            yield limit
            return
        start = self.job.cycle
        trace = np.empty(min(limit, _TRACED_CYCLES), self.trace_type)
        self.job.trace = trace.ctypes.data
        yield len(trace)
        self._traces.append(trace[: self.job.cycle - start])

    def played(self) -> Played:
        """Results so far."""
        ports = {}
        for name, prefix, _ in PORTS:
            if name not in self.arrays:
                continue
            port, packets = getattr(self.job, name), self.arrays[name]["packets"]
            done = packets[: port.done]
            data = self.arrays[name].get("out", self.arrays[name].get("data"))
            size = int(done["end"][-1]) if len(done) else 0
            ports[prefix] = Crossed(data[:size], done, len(packets), port.stalls)
        trace = None
        if self.trace_type is not None:
            trace = np.concatenate([np.empty(0, self.trace_type), *self._traces])
        return Played(ports, self.job.cycle, self.job.failure.decode(), trace)

    def progress(self) -> str:
        """Progress of each port, as text."""
        parts = []
        for name, prefix, _ in PORTS:
            if name in self.arrays:
                port = getattr(self.job, name)
                way = "in" if "data" in self.arrays[name] else "out"
                parts.append(f"{port.done:,} of {port.count:,} packets {way} at {prefix}")
        return ", ".join(parts)


def begin(arrays: dict, fed: Fed, reset_cycles: int, trace_type: np.dtype | None) -> Run:
    """Make a run that has not begun."""
    return Run(_job(arrays, fed, reset_cycles), arrays, trace_type)


def trace_type(sizes: Mapping[str, int]) -> np.dtype:
    """Type of the pins that ``copy_pins`` of ``streams.h`` copies, in the order of ``PORTS``.

    Parameters
    ----------
    sizes : mapping of str to int
        Bytes of a beat or record, by field of ``Job``.
    """
    ports = []
    for name, prefix, _ in PORTS:
        if name not in sizes:
            continue
        size = sizes[name]
        framed = [("last", "u1"), ("keep", "u1", (-(-size // 8),))]
        is_framed = name in ("source", "sink", "link")
        pins = [("valid", "u1"), ("ready", "u1"), *framed * is_framed, ("data", "u1", (size,))]
        ports.append((prefix, pins))
    return np.dtype(ports)


def _job(arrays, fed, reset_cycles):
    job = Job()
    job.junk = 2 * fed.seed + 1 if fed.is_dirty else 0
    job.patience = 1000
    job.reset_cycles = reset_cycles
    job.generators = []  # must live as long as the job
    for name, prefix, port in PORTS:
        if name not in arrays:
            continue
        target = getattr(job, name)
        target.name = prefix.encode()
        target.count = len(arrays[name]["packets"])
        for member, array in arrays[name].items():
            setattr(target, member, array.ctypes.data)
        if "out" in arrays[name]:
            target.capacity = arrays[name]["out"].size
        if port is not None:
            job.patience += 4 * fed.profiles[port].longest
            job.generators.append(_start(target.stall, fed.profiles[port], fed.seed, port))
    return job


def _start(stall, profile, seed, port):
    """Initialise a ``_Stall``. Returns its random generator."""
    rng, stall.phase = profile.start(seed, port)
    for name in ("on", "off", "pause", "at", "p"):
        setattr(stall, name, getattr(profile, name))
    interface = rng.bit_generator.ctypes
    stall.draw = ctypes.cast(interface.next_double, ctypes.c_void_p)
    stall.state = interface.state_address
    return rng
