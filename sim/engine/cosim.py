"""A tensor out to host memory and back through the engine, compared with the golden engine."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.zvc.words import to_words
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel, Job


@dataclass(frozen=True)
class Trip:
    """One round trip.

    Attributes
    ----------
    offload, prefetch : Job or None
        ``None`` when it was not reached.
    stream : np.ndarray of uint8
        Host memory as the engine left it.
    least_cycles : tuple of int
        Lower bounds of both, by :func:`cdma.golden.engine.cycles`.
    problem : str
        First difference, broken rule or hang, or empty.
    """

    offload: Job | None
    prefetch: Job | None
    stream: np.ndarray
    least_cycles: tuple[int, int]
    problem: str


def round_trip(
    array: np.ndarray,
    config: EngineConfig,
    device: Memory | None = None,
    host: Memory | None = None,
    *,
    raw: str = "auto",
    crc: bool = True,
    seed: int = 0,
    verilog: str | None = None,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    waves: str | os.PathLike | None = None,
) -> Trip:
    """Offload a tensor and prefetch it, through registers, rings and memories.

    Parameters
    ----------
    array : np.ndarray
        Any shape, elements as wide as the engine's words.
    config : EngineConfig
    device, host : Memory or None
        Timing of both sides; ``None`` is a latency of 350 and of 500 cycles.
    raw : str
        ``never``, ``auto`` or ``always``.
    crc : bool
        CRC of each stripe in the index, checked by the prefetch.
    seed : int
    verilog, cache, progress, waves
        As for :class:`cdma.sim.engine.model.EngineModel`.

    Raises
    ------
    UserError, SimulationError
        As :class:`cdma.sim.engine.model.EngineModel`.
    """
    words = to_words(np.asarray(array))
    options = {"verilog": verilog, "cache": cache, "progress": progress, "waves": waves}
    model = EngineModel(config, device, host, seed, **options)
    least = tuple(
        golden.cycles(words, config, raw, model.tensor_address(), latency=0, direction=direction)
        for direction in ("offload", "prefetch")
    )
    out = back = None
    try:
        out = model.offload(array, raw, crc=crc)
        expected = golden.offload(words, config, raw, crc=crc)
        problem = _named("offload", offload_difference(out, expected))
        if not problem:
            back = model.prefetch(out, crc=crc)
            found = golden.salvage_stripes(out.stream, out.index, words.size, config, crc=crc)
            problem = _named("prefetch", prefetch_difference(back, found))
    except Violation as error:
        problem = str(error)
    finally:
        model.engine.close()
    stream = np.zeros(0, np.uint8) if out is None else out.stream
    return Trip(out, back, stream, least, problem)


def _named(what, difference):
    return f"{what}: {difference}" if difference else ""
