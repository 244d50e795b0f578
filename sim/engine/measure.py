"""Cycles of tensors through engines of several sizes, beside their lower bounds."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from cdma.engine_config import COMPLETION_BYTES, EngineConfig
from cdma.golden import engine as golden
from cdma.golden.zvc.words import to_words
from cdma.sim.engine.cosim import travel
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel, Job

#: Latencies in cycles of the memories that are measured with: no jitter, no refresh.
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
    """Take each tensor out and back through an engine of each size, one job at a time.

    A job's cycles are those from the doorbell to the completion in host memory, less the latencies
    that no engine avoids: of the descriptor's read, of the first read of data, of the last B of the
    data, and of the completion's first write where it has two. The bound is
    :func:`cdma.golden.engine.cycles`.

    Parameters
    ----------
    tensors : mapping of str to np.ndarray
        Elements as wide as the engines' words.
    configs : iterable of EngineConfig
    progress : callable or None
        Told what is measured, and how builds go.
    seed : int

    Yields
    ------
    dict
        ``tensor``, ``config``, ``channels``, ``bytes``, ``stream_bytes``, ``ratio``, ``comparison``
        (``equal`` or what differs from the golden engine), and of both directions
        ``offload_cycles``, ``least_offload_cycles``, ``offload_share``.

    Raises
    ------
    UserError, SimulationError
        As :class:`cdma.sim.engine.model.EngineModel`.
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
        first, last = 2 * HOST_LATENCY, DEVICE_LATENCY  # the index comes before the stream
    least = golden.cycles(words, config, "auto", job.tensor.address, latency=0, direction=direction)
    # A completion that is wider than the link is two writes, one after the B of the other.
    completion = HOST_LATENCY if config.link_bytes < COMPLETION_BYTES else 0
    cycles = job.cycles - HOST_LATENCY - first - last - completion
    return {
        f"{direction}_cycles": cycles,
        f"least_{direction}_cycles": least,
        f"{direction}_share": cycles / least if least else None,
    }
