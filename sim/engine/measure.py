"""Measure cycles of tensors in engines of several sizes, with their lower bounds."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.zvc.words import to_words
from cdma.sim.engine.cosim import travel
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel, Job

#: Latencies of the memories in cycles, without jitter and refresh.
DEVICE_LATENCY, HOST_LATENCY = 350, 500
COLUMNS = {
    "tensor": "tensor",
    "channels": "channels",
    "bytes": "bytes",
    "ratio": "ratio",
    "offload_cycles": "offload cycles",
    "least_offload_cycles": "bound",
    "offload_share": "of the bound",
    "prefetch_cycles": "prefetch cycles",
    "least_prefetch_cycles": "its bound",
    "prefetch_share": "of its bound",
}


def measure(
    tensors: Mapping[str, np.ndarray],
    configs: Iterable[EngineConfig],
    progress: Callable[[str], None] | None = None,
    seed: int = 0,
) -> Iterator[dict]:
    """Offload and prefetch each tensor with an engine of each size, one job at a time.

    The cycles are those of the job's completion, from its start to its last B, minus the latencies
    that no engine can avoid: the first read of data (for a prefetch also that of the index) and the
    last B. The bound is :func:`cdma.golden.engine.cycles`.

    Parameters
    ----------
    tensors : mapping of str to np.ndarray
        Tensors with elements as wide as the engines' words.
    configs : iterable of EngineConfig
    progress : callable or None
        Called with the name of each measurement, and with the progress of builds.
    seed : int

    Yields
    ------
    dict
        ``tensor``, ``config``, ``channels``, ``bytes``, ``stream_bytes``, ``ratio``, ``comparison``
        (``equal`` or the difference from the golden engine), and for both directions
        ``offload_cycles``, ``least_offload_cycles``, ``offload_share``.

    Raises
    ------
    UserError, SimulationError
        See :class:`cdma.sim.engine.model.EngineModel`.
    """
    memories = Memory(latency=DEVICE_LATENCY), Memory(latency=HOST_LATENCY)
    for config in configs:
        model = EngineModel(config, *memories, seed, progress=progress)
        for name, array in tensors.items():
            if progress:
                progress(f"{config.name}: {name}")
            trip = travel(model, array, crc=False)
            words = to_words(np.asarray(array))
            row = {
                "tensor": name,
                "config": config.name,
                "channels": config.channels,
                "bytes": words.nbytes,
                "stream_bytes": None if trip.offload is None else len(trip.stream),
                "ratio": words.nbytes / len(trip.stream) if len(trip.stream) else None,
                "comparison": trip.problem or "equal",
            }
            for direction, job in (("offload", trip.offload), ("prefetch", trip.prefetch)):
                row |= _cycles(direction, job, words, config)
            yield row
        model.engine.close()


def _cycles(direction: str, job: Job | None, words: np.ndarray, config: EngineConfig) -> dict:
    """Cycles of one direction and their bound."""
    if job is None:
        return {}
    is_offload = direction == "offload"
    first, last = DEVICE_LATENCY, HOST_LATENCY
    if not is_offload:
        first, last = 2 * HOST_LATENCY, DEVICE_LATENCY  # the index is read before the stream
    least = golden.cycles(words, config, "auto", job.tensor.address, latency=0, direction=direction)
    cycles = job.completion.cycles - first - last
    return {
        f"{direction}_cycles": cycles,
        f"least_{direction}_cycles": least,
        f"{direction}_share": cycles / least if least else None,
    }
