"""A round trip through the engine as plain numbers and texts, for tables and for JSON."""

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.sim.engine.cosim import Trip


def record(tensor: np.ndarray, config: EngineConfig, trip: Trip) -> dict:
    """Sizes and cycles of a round trip; a figure that is not known is ``None``."""
    out, back = trip.offload, trip.prefetch
    size = None if out is None else out.completion.stream_bytes
    return {
        "unit": "engine",
        "config": config.name,
        "channels": config.channels,
        "lanes": config.lanes,
        "word_bits": config.word_bits,
        "bytes_in": int(tensor.nbytes),
        "stream_bytes": size,
        "ratio": tensor.nbytes / size if size else None,
        "stripes": config.stripes(tensor.nbytes),
        "raw_stripes": None if out is None else out.completion.raw_stripes,
        "offload_cycles": None if out is None else out.cycles,
        "least_offload_cycles": trip.least_cycles[0],
        "prefetch_cycles": None if back is None else back.cycles,
        "least_prefetch_cycles": trip.least_cycles[1],
        "bytes_per_cycle": tensor.nbytes / out.cycles if out is not None else None,
    }
