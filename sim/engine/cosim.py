"""Offload and prefetch a tensor with the engine, and compare with the golden engine."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.files import replacing
from cdma.golden import engine as golden
from cdma.golden.zvc.words import to_words
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build, pins
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel, Job
from cdma.toolchain import simulators
from cdma.toolchain.waves import convert, wave_format

#: ``fast`` is the compiled model. The others run under cocotb.
SIMULATORS = (*simulators.SIMULATORS, "fast")
#: Module for cocotb.
BENCH = "cdma.sim.cocotb.engine"
#: Least speed of cocotb in cycles a second.
_CYCLES_PER_SECOND = 300


@dataclass(frozen=True)
class Trip:
    """One round trip.

    Attributes
    ----------
    offload, prefetch : Job or None
        ``None`` if the job was not started.
    stream : np.ndarray of uint8
        Host memory after the offload.
    least_cycles : tuple of int
        Lower bounds of both, from :func:`cdma.golden.engine.cycles`.
    problem : str
        First difference, violated rule or hang, or empty.
    """

    offload: Job | None
    prefetch: Job | None
    stream: np.ndarray
    least_cycles: tuple[int, int]
    problem: str

    def record(self, config: EngineConfig, nbytes: int) -> dict:
        """Record of a tensor of ``nbytes`` bytes, for JSON."""
        out, back = self.offload, self.prefetch
        size = None if out is None else out.completion.stream_bytes
        return {
            "unit": "engine",
            "config": config.name,
            "channels": config.channels,
            "lanes": config.lanes,
            "word_bits": config.word_bits,
            "bytes_in": nbytes,
            "stream_bytes": size,
            "ratio": nbytes / size if size else None,
            "stripes": config.stripes(nbytes),
            "raw_stripes": None if out is None else out.completion.raw_stripes,
            "offload_cycles": None if out is None else out.cycles,
            "least_offload_cycles": self.least_cycles[0],
            "prefetch_cycles": None if back is None else back.cycles,
            "least_prefetch_cycles": self.least_cycles[1],
            "bytes_per_cycle": None if out is None else nbytes / out.cycles,
            "comparison": self.problem or "equal",
        }


def round_trip(
    array: np.ndarray,
    config: EngineConfig,
    device: Memory | None = None,
    host: Memory | None = None,
    *,
    simulator: str = "fast",
    raw: str = "auto",
    crc: bool = True,
    seed: int = 0,
    verilog: str | None = None,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    waves: str | os.PathLike | None = None,
) -> Trip:
    """Offload and prefetch a tensor, with registers, rings and memories.

    Parameters
    ----------
    array : np.ndarray
        Array of any shape, with elements as wide as the engine's words.
    config : EngineConfig
    device, host : Memory or None
        Timing of both sides, by default latencies of 350 and 500 cycles.
    simulator : str
        One of ``SIMULATORS``. All have the same cycles.
    raw : str
        ``never``, ``auto`` or ``always``.
    crc : bool
        Write the CRC of each stripe to the index. The prefetch checks the CRC.
    seed : int
    verilog, cache, progress, waves
        See :class:`cdma.sim.engine.model.EngineModel`.

    Raises
    ------
    UserError, SimulationError
        See :class:`cdma.sim.engine.model.EngineModel`.
    """
    if simulator not in SIMULATORS:
        raise UserError(f"Simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if waves is not None:
        wave_format(waves, simulator)
    device, host = device or Memory(latency=350), host or Memory(latency=500)
    options = {"raw": raw, "crc": crc}
    if simulator == "fast":
        made = {"verilog": verilog, "cache": cache, "progress": progress}
        with _vcd(waves) as file:
            model = EngineModel(config, device, host, seed, waves=file, **made)
            try:
                return travel(model, array, is_given=verilog is not None, **options)
            finally:
                model.engine.close()
    # A program that is missing is told before minutes of generating.
    simulators.environment(simulator)
    text = designs.engine(config, cache, progress) if verilog is None else verilog
    names = pins.managers(pins.declared(text, build.TOP))
    options["is_given"] = verilog is not None
    job = {"config": config, "device": device, "host": host, "ports": names, "seed": seed}
    folder = simulators.build(text, build.TOP, simulator, cache, progress, waves is not None)
    seconds = 600 + 40 * np.asarray(array).nbytes / config.link_bytes / _CYCLES_PER_SECOND
    waves = None if waves is None else Path(waves)
    arguments = (
        folder,
        build.TOP,
        [job | {"array": array, "options": options}],
        BENCH,
        simulator,
        seconds,
        progress,
        waves,
    )
    (trip,) = simulators.run(*arguments)
    return trip


def travel(
    model: EngineModel,
    array: np.ndarray,
    *,
    raw: str = "auto",
    crc: bool = True,
    is_given: bool = False,
) -> Trip:
    """A round trip on an existing model. For the arguments see :func:`round_trip`.

    The size of an engine whose Verilog was given may be another one: its capabilities are compared
    first.
    """
    config, words = model.config, to_words(np.asarray(array))
    least = tuple(
        golden.cycles(words, config, raw, model.tensor_address(), latency=0, direction=direction)
        for direction in ("offload", "prefetch")
    )
    out = back = None
    try:
        if is_given:
            _check_size(model)
        out = model.offload(array, raw, crc=crc)
        expected = golden.offload(words, config, raw, crc=crc)
        problem = _named("offload", offload_difference(out, expected, config))
        if not problem:
            back = model.prefetch(out, crc=crc)
            found = golden.salvage_stripes(out.stream, out.index, words.size, config, crc=crc)
            problem = _named("prefetch", prefetch_difference(back, found, config))
    except Violation as error:
        problem = str(error)
    stream = np.zeros(0, np.uint8) if out is None else out.stream
    return Trip(out, back, stream, least, problem)


def _check_size(model):
    """Raise Violation for an engine whose capabilities are not those of the model's size."""
    for register in model.map.block("ENGINE").registers:
        if not register.name.startswith("CAP"):
            continue
        value = model.read("ENGINE", register.name)
        for field in register.fields:
            found = (value & field.mask) >> field.low
            if found != field.reset:
                raise Violation(
                    f"the Verilog is an engine of another size than {model.config.name}: "
                    f"{register.name}.{field.name} ({field.text}) is {found}, expected "
                    f"{field.reset}. Give the options that it was generated with"
                )


@contextmanager
def _vcd(waves: str | os.PathLike | None) -> Iterator[Path | None]:
    """File for VCD waveforms, which are converted to the requested format."""
    if waves is None:
        yield None
        return
    with replacing(waves) as file, tempfile.TemporaryDirectory(dir=file.parent) as folder:
        vcd = file if wave_format(waves, "fast") == "vcd" else Path(folder) / "dump.vcd"
        yield vcd
        if vcd != file:
            convert(vcd, file)


def _named(what, difference):
    return f"{what}: {difference}" if difference else ""
