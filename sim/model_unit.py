"""A unit's compiled model: packets in, what crossed each port out (``model.cpp`` does the work)."""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.errors import UserError
from cdma.hdl.config import Config
from cdma.sim import model_build, tools
from cdma.sim.backpressure import Profile

#: Struct ``Packet`` of ``model_streams.h``: where a packet's bytes end, and when it crossed a port.
PACKET = np.dtype([(name, np.int64) for name in ("end", "beats", "first_cycle", "last_cycle")])

_RUNNING, _DONE, _FAILED = range(3)
#: Bytes that an output may give beyond what it owes, so that a comparison can tell what they are.
_SURPLUS = 1 << 16


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
_PORTS = (
    ("source", "s_axis", "source"),
    ("command", "s_axis_cmd", "command"),
    ("sink", "m_axis", "sink"),
    ("status", "m_axis_sts", "status"),
    ("link", "link", None),
    ("link_status", "m_axis_csts", "status"),
)


class _Job(ctypes.Structure):
    _fields_ = (
        *[(field, _Port) for field, _, _ in _PORTS],
        ("junk", ctypes.c_uint64),
        ("patience", ctypes.c_int64),
        ("reset_cycles", ctypes.c_int64),
        ("trace", ctypes.c_void_p),
        ("cycle", ctypes.c_int64),
        ("failure", ctypes.c_char * 256),
    )


#: Cycles of a trace that are gathered at a time.
_TRACED_CYCLES = 1 << 14


@dataclass(frozen=True)
class Fed:
    """What a unit is fed, and when.

    Attributes
    ----------
    data : np.ndarray of uint8, shape (bytes,), contiguous
        Bytes of all packets, behind each other.
    offsets : np.ndarray of int64, shape (packets + 1,)
        Where each packet begins in ``data``, and where the last ends.
    counts : np.ndarray of uint32, shape (packets,), or None
        Words in each packet, where the unit takes commands.
    profiles : mapping of str to Profile
        Back-pressure of each of ``backpressure.PORTS``.
    seed : int
        Seeds back-pressure, junk, and registers without reset.
    is_dirty : bool
        As for :class:`cdma.sim.job.Stimulus`.
    """

    data: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray | None
    profiles: Mapping[str, Profile]
    seed: int = 0
    is_dirty: bool = False


@dataclass(frozen=True)
class Crossed:
    """What crossed a port.

    Attributes
    ----------
    data : np.ndarray of uint8, shape (bytes,)
        Bytes of all packets (records), behind each other.
    packets : np.ndarray of PACKET, shape (packets,)
        Those that crossed whole.
    owed : int
        How many should have.
    stalls : int
        Cycles with ``tvalid`` and without ``tready``.
    """

    data: np.ndarray
    packets: np.ndarray
    owed: int
    stalls: int


@dataclass(frozen=True)
class Played:
    """One run: what crossed each port, by its prefix, its length in cycles, and what went wrong.

    ``trace``, where it is wanted, has the pins of all ports before each edge of the clock: a
    structured array of shape (cycles,) with a field for each port, and in it ``valid``, ``ready``,
    of packets ``last`` and ``keep``, and ``data``, bytes all of them.
    """

    ports: dict[str, Crossed]
    cycles: int
    failure: str
    trace: np.ndarray | None = None


class ModelUnit:
    """The compiled model of one unit; built when it is not in the cache.

    Runs are independent of each other, and threads may run them at the same time.

    Parameters
    ----------
    unit, config, cache, progress
        As for :func:`cdma.sim.model_build.build`.
    verilog : str
        The design.
    has_mutants, has_coverage : bool
        As for :func:`cdma.sim.model_build.build`.

    Raises
    ------
    UserError, SimulationError
        As :func:`cdma.sim.model_build.build`.
    """

    def __init__(
        self,
        unit: str,
        config: Config,
        verilog: str,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
        *,
        has_mutants: bool = False,
        has_coverage: bool = False,
    ):
        self.unit, self.config = unit, config
        self._has_mutants = has_mutants
        options = {"has_mutants": has_mutants, "has_coverage": has_coverage}
        self._library = _load(model_build.build(verilog, unit, config, cache, progress, **options))

    def play(
        self,
        fed: Fed,
        *,
        before: Fed | None = None,
        reset_at: int | None = None,
        reset_cycles: int = 4,
        is_traced: bool = False,
        mutant: int = 0,
        cycles: int | None = None,
        coverage: Path | None = None,
        seconds: float | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Played:
        """Play packets from reset to the last one.

        Parameters
        ----------
        fed : Fed
            What is played.
        before, reset_at, reset_cycles
            As for :class:`cdma.sim.job.Stimulus`.
        is_traced : bool
            Record the pins of all ports.
        mutant : int
            Fault in the design, of one that has any; 0 is none.
        cycles : int or None
            Cut the run off after so many cycles.
        coverage : Path or None
            File that gets Verilator's counts, of a model that has them.
        seconds : float or None
            Wall time after which the run is ended.
        progress : callable or None
            Told about once a second how far the run is.

        Raises
        ------
        SimulationError
            When the time is up.
        """
        model = self._library.model_new(1 + fed.seed % (1 << 30))  # 0 would not repeat
        try:
            if self._has_mutants:
                self._library.model_mutate(model, mutant)
            if reset_at is not None:
                run = self._run(before or fed, reset_cycles)
                self._advance(model, run, reset_at, seconds, progress)
                if run.job.failure:
                    return _played(run)
            run = self._run(fed, reset_cycles, is_traced, cycles)
            self._advance(model, run, cycles, seconds, progress)
            if coverage:
                self._library.model_write_coverage(model, str(coverage).encode())
            return _played(run)
        finally:
            self._library.model_delete(model)

    def _run(self, fed, reset_cycles, is_traced=False, cycles=None):
        arrays = self._arrays(fed.data, fed.offsets, fed.counts, cycles)
        job = _job(arrays, fed, reset_cycles)
        return _Run(job, arrays, _trace_type(arrays, self._sizes()) if is_traced else None, [])

    def _sizes(self):
        """Bytes of a beat or record of each port, by field of ``_Job``."""
        beat = self.config.beat_bytes
        status = model_build.STATUS_BYTES[self.unit]
        records = {"command": 4, "status": status, "link_status": 8}
        return {field: records.get(field, beat) for field, _, _ in _PORTS}

    def _arrays(self, data, offsets, counts, cycles):
        """Buffers of each port, by field of ``_Job``."""
        fmt = self.config.format
        number, size = len(offsets) - 1, int(offsets[-1] - offsets[0])
        words = 0 if counts is None else int(counts.sum(dtype=np.int64))
        # A stream is the data and its masks; each packet has one block that may be partial.
        blocks = size // (fmt.block_words * fmt.word_bytes) + number
        stream = size + blocks * fmt.mask_bytes
        sizes = {
            "sink": stream if self.unit == "compressor" else words * fmt.word_bytes,
            "status": number * model_build.STATUS_BYTES[self.unit],
        }
        if self.unit == "roundtrip":
            sizes |= {"link": stream, "link_status": number * 8}
        if cycles is not None:  # a port gives a beat in each of them at most
            most = cycles * self.config.beat_bytes
            sizes = {field: min(size, most) for field, size in sizes.items()}
        arrays = {
            field: {
                "out": np.empty(size + _SURPLUS, np.uint8),
                "packets": np.empty(number, PACKET),
            }
            for field, size in sizes.items()
        }
        arrays["source"] = {
            "data": data,
            "offsets": np.ascontiguousarray(offsets, np.int64),
            "packets": np.empty(number, PACKET),
        }
        if self.unit != "compressor":
            commands = np.ascontiguousarray(counts, "<u4")
            arrays["command"] = {"data": commands, "packets": np.empty(number, PACKET)}
        return arrays

    def _advance(self, model, run, cycles, seconds, progress):
        """Run in slices of about a quarter of a second, so that it can be interrupted."""
        job = run.job
        start = told = time.monotonic()
        library, slice_ = self._library, 4096
        outcome = library.model_start(model, job)
        while outcome == _RUNNING and job.cycle != cycles:
            before = time.monotonic()
            if seconds is not None and before - start > seconds:
                raise tools.SimulationError(f"the model was ended after {seconds:g} s")
            limit = slice_ if cycles is None else min(slice_, cycles - job.cycle)
            with run.traced(limit) as limit:
                outcome = library.model_advance(model, job, limit)
            now = time.monotonic()
            if now - before < 0.25:
                slice_ *= 2
            if progress and now - told > 1:
                told = now
                progress(f"cycle {job.cycle:,}: {_how_far(run)}")
        if outcome == _FAILED and job.failure.startswith(b"hangs"):
            job.failure += f"; {_how_far(run)}".encode()[: 255 - len(job.failure)]


@dataclass
class _Run:
    """A job, its buffers by field of ``_Job``, and what was traced of it so far."""

    job: _Job
    arrays: dict
    trace_type: np.dtype | None
    traces: list

    @contextlib.contextmanager
    def traced(self, limit):
        """Trace what is played meanwhile; gives how many cycles that may be."""
        if self.trace_type is None:
            yield limit
            return
        start = self.job.cycle
        trace = np.empty(min(limit, _TRACED_CYCLES), self.trace_type)
        self.job.trace = trace.ctypes.data
        yield len(trace)
        self.traces.append(trace[: self.job.cycle - start])


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise UserError(f"{path}: cannot load this model, delete its folder ({error})") from error
    job = ctypes.POINTER(_Job)
    library.model_new.argtypes = [ctypes.c_int]
    library.model_new.restype = ctypes.c_void_p
    library.model_delete.argtypes = [ctypes.c_void_p]
    library.model_delete.restype = None
    if hasattr(library, "model_mutate"):
        library.model_mutate.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.model_mutate.restype = None
    if hasattr(library, "model_write_coverage"):
        library.model_write_coverage.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.model_write_coverage.restype = None
    library.model_start.argtypes = [ctypes.c_void_p, job]
    library.model_advance.argtypes = [ctypes.c_void_p, job, ctypes.c_int64]
    return library


def _job(arrays, fed, reset_cycles):
    job = _Job()
    job.junk = 2 * fed.seed + 1 if fed.is_dirty else 0
    job.patience = 1000
    job.reset_cycles = reset_cycles
    job.generators = []  # must live as long as the job
    for field, prefix, port in _PORTS:
        if field not in arrays:
            continue
        target = getattr(job, field)
        target.name = prefix.encode()
        target.count = len(arrays[field]["packets"])
        for name, array in arrays[field].items():
            setattr(target, name, array.ctypes.data)
        if "out" in arrays[field]:
            target.capacity = arrays[field]["out"].size
        if port is not None:
            job.patience += 4 * fed.profiles[port].longest
            job.generators.append(_start(target.stall, fed.profiles[port], fed.seed, port))
    return job


def _start(stall, profile, seed, port):
    """Fill in a ``_Stall``, give the generator that it draws from."""
    rng, stall.phase = profile.start(seed, port)
    for name in ("on", "off", "pause", "at", "p"):
        setattr(stall, name, getattr(profile, name))
    interface = rng.bit_generator.ctypes
    stall.draw = ctypes.cast(interface.next_double, ctypes.c_void_p)
    stall.state = interface.state_address
    return rng


def _trace_type(arrays, sizes):
    """What ``copy_pins`` of ``model_streams.h`` leaves of each port, in the order of ``_PORTS``."""
    ports = []
    for field, prefix, _ in _PORTS:
        if field not in arrays:
            continue
        size = sizes[field]
        framed = [("last", "u1"), ("keep", "u1", (-(-size // 8),))]
        is_framed = field in ("source", "sink", "link")
        pins = [("valid", "u1"), ("ready", "u1"), *framed * is_framed, ("data", "u1", (size,))]
        ports.append((prefix, pins))
    return np.dtype(ports)


def _played(run):
    ports, job, arrays = {}, run.job, run.arrays
    for field, prefix, _ in _PORTS:
        if field not in arrays:
            continue
        port, packets = getattr(job, field), arrays[field]["packets"]
        done = packets[: port.done]
        data = arrays[field].get("out", arrays[field].get("data"))
        size = int(done["end"][-1]) if len(done) else 0
        ports[prefix] = Crossed(data[:size], done, len(packets), port.stalls)
    trace = None if run.trace_type is None else np.concatenate(run.traces)
    return Played(ports, job.cycle, job.failure.decode(), trace)


def _how_far(run):
    told, job, arrays = [], run.job, run.arrays
    for field, prefix, _ in _PORTS:
        if field in arrays:
            port, way = getattr(job, field), "in" if "data" in arrays[field] else "out"
            told.append(f"{port.done:,} of {port.count:,} packets {way} at {prefix}")
    return ", ".join(told)
