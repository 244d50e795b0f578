"""The compiled model of a unit: packets in, transfers of each port out (see ``model.cpp``)."""

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cdma.errors import SimulationError, UserError
from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled import build
from cdma.sim.compiled.run import PACKET, Fed, Job, Played, begin, trace_type
from cdma.sim.typed import part_of

_RUNNING, _DONE, _FAILED = range(3)
#: Surplus bytes that are accepted from an output, so that a comparison can show them.
_SURPLUS = 1 << 16


class ModelUnit:
    """The compiled model of one unit. The model is built if it is not in the cache.

    Runs are independent of each other, and threads may run at the same time.

    Parameters
    ----------
    unit, config, cache, progress
        See :func:`cdma.sim.compiled.build.build`.
    verilog : str
        The design.
    has_mutants, has_coverage, has_waves
        See :func:`cdma.sim.compiled.build.build`.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.compiled.build.build`.
    """

    def __init__(
        self,
        unit: str,
        config: UnitConfig,
        verilog: str,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
        *,
        has_mutants: bool = False,
        has_coverage: bool = False,
        has_waves: bool = False,
    ):
        self.unit, self.config = unit, config
        self._has_mutants = has_mutants
        options = {
            "has_mutants": has_mutants,
            "has_coverage": has_coverage,
            "has_waves": has_waves,
        }
        self._library = _load(build.build(verilog, unit, config, cache, progress, **options))

    @classmethod
    def of(cls, library: Path, unit: str, config: UnitConfig) -> "ModelUnit":
        """The model in a shared library that was built."""
        model = cls.__new__(cls)
        model.unit, model.config, model._has_mutants = unit, config, False
        model._library = _load(library)
        return model

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
        waves: Path | None = None,
        seconds: float | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Played:
        """Play packets from reset to the last one.

        Parameters
        ----------
        fed : Fed
            Input of the unit.
        before, reset_at, reset_cycles
            See :class:`cdma.sim.job.Stimulus`.
        is_traced : bool
            Record the pins of all ports.
        mutant : int
            Number of the fault in a design with mutants. 0 for no fault.
        cycles : int or None
            Stop the run after this number of cycles.
        coverage : Path or None
            File for Verilator's counts, only with ``has_coverage``.
        waves : Path or None
            File for the waveforms (VCD), only with ``has_waves``.
        seconds : float or None
            Wall time after which the run is stopped.
        progress : callable or None
            Called about once a second with the progress of the run.

        Raises
        ------
        SimulationError
            After ``seconds``.
        """
        model = self._library.model_new(1 + fed.seed % (1 << 30))  # a seed of 0 is not repeatable
        try:
            if self._has_mutants:
                self._library.model_mutate(model, mutant)
            if waves is not None:
                self._library.model_open_waves(model, str(waves).encode())
            if reset_at is not None:
                run = self._run(before or fed, reset_cycles)
                self._advance(model, run, reset_at, seconds, progress)
                if run.job.failure:
                    return run.played()
            run = self._run(fed, reset_cycles, is_traced, cycles)
            self._advance(model, run, cycles, seconds, progress)
            if coverage:
                self._library.model_write_coverage(model, str(coverage).encode())
            return run.played()
        finally:
            self._library.model_delete(model)

    def _run(self, fed, reset_cycles, is_traced=False, cycles=None):
        arrays = self._arrays(fed, cycles)
        status = build.status_bytes(self.unit, self.config)
        command = build.command_bytes(self.unit, self.config)
        records = {"command": command, "status": status, "link_status": 8}
        sizes = {field: records.get(field, self.config.beat_bytes) for field in arrays}
        return begin(arrays, fed, reset_cycles, trace_type(sizes) if is_traced else None)

    def _arrays(self, fed, cycles):
        """Buffers of each port, by field of ``Job``."""
        data, offsets, counts, fmt = fed.data, fed.offsets, fed.counts, self.config.format
        number, size = len(offsets) - 1, int(offsets[-1] - offsets[0])
        # Each packet has one block that may be partial.
        blocks = size // (fmt.block_words * fmt.word_bytes) + number
        stream = fmt.most_bytes(blocks * fmt.block_words)
        word_bytes = fmt.word_bytes
        if fed.types is not None:  # blocks of all types have the same number of bytes
            sizes = [part_of(self.config, each).format.word_bytes for each in range(256)]
            word_bytes = np.array(sizes)[fed.types]
        if self.unit == "compressor":
            sink = stream
        elif counts is not None:
            sink = int((counts.astype(np.int64) * word_bytes).sum())
        else:  # of a stream without a count, each bit may be of a mask, for a word
            sink = size if self.unit == "roundtrip" else size * fmt.word_bits
        status = number * build.status_bytes(self.unit, self.config)
        sizes = {"sink": sink, "status": status}
        if self.unit == "roundtrip":
            sizes |= {"link": stream, "link_status": number * 8}
        if cycles is not None:  # a port has at most one beat a cycle
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
        commands = fed.commands
        if commands is not None:
            arrays["command"] = {"data": commands, "packets": np.empty(number, PACKET)}
        return arrays

    def _advance(self, model, run, cycles, seconds, progress):
        """Run in slices of about a quarter of a second, so that the run can be interrupted."""
        job = run.job
        start = reported = time.monotonic()
        library, slice_ = self._library, 4096
        outcome = library.model_start(model, job)
        while outcome == _RUNNING and job.cycle != cycles:
            before = time.monotonic()
            if seconds is not None and before - start > seconds:
                raise SimulationError(f"the model was ended after {seconds:g} s")
            limit = slice_ if cycles is None else min(slice_, cycles - job.cycle)
            with run.traced(limit) as limit:
                outcome = library.model_advance(model, job, limit)
            now = time.monotonic()
            if now - before < 0.25:
                slice_ *= 2
            if progress and now - reported > 1:
                reported = now
                progress(f"cycle {job.cycle:,}: {run.progress()}")
        if outcome == _FAILED and job.failure.startswith(b"hangs"):
            job.failure += f"; {run.progress()}".encode()[: 255 - len(job.failure)]


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise UserError(f"{path}: cannot load this model, delete its folder ({error})") from error
    job = ctypes.POINTER(Job)
    library.model_new.argtypes = [ctypes.c_int]
    library.model_new.restype = ctypes.c_void_p
    library.model_delete.argtypes = [ctypes.c_void_p]
    library.model_delete.restype = None
    if hasattr(library, "model_mutate"):
        library.model_mutate.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.model_mutate.restype = None
    if hasattr(library, "model_open_waves"):
        library.model_open_waves.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.model_open_waves.restype = None
    if hasattr(library, "model_write_coverage"):
        library.model_write_coverage.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.model_write_coverage.restype = None
    library.model_start.argtypes = [ctypes.c_void_p, job]
    library.model_advance.argtypes = [ctypes.c_void_p, job, ctypes.c_int64]
    return library
