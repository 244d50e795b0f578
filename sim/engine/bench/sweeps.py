"""Speed of the engine over one parameter at a time, for plots."""

from collections.abc import Callable, Iterator, Sequence

from cdma.engine_config import EngineConfig
from cdma.sim.engine.bench.transfers import back_to_back, outward, trip, words
from cdma.sim.engine.model import OFFLOAD, PREFETCH

NBYTES = 1 << 19
SIZES = {4096: 64, 16384: 16, 65536: 12, 262144: 8, 1048576: 4}
LATENCIES = (0, 100, 200, 300, 350, 400, 500, 700)
DENSITIES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.03)
#: Counters of a channel: beats, and cycles that waited, by the reason.
COUNTED = (
    "raw_beats",
    "stream_beats",
    *("stall_credit", "stall_rate", "stall_address", "stall_turn", "stall_link"),
)


def measure(
    configs: Sequence[EngineConfig], progress: Callable[[str], None] | None = None
) -> Iterator[dict]:
    """Measure the points of the plots.

    Parameters
    ----------
    configs : sequence of EngineConfig
        The density is swept with each, all else with the largest.
    progress : callable or None
        Called with the name of each measurement.

    Yields
    ------
    dict
        ``sweep``: ``size``, ``latency`` or ``density``; ``channels``; the parameter; ``written``,
        the share of cycles with a beat written to the host, ``read``; of a density also ``ratio``,
        ``raw_bytes_per_cycle`` and ``shares``: parts of the offload's cycles by the engine's
        counters, of one channel on average.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.bench.transfers.trip`.
    """
    report = progress or (lambda text: None)
    widest = max(configs, key=lambda config: config.channels)
    for config in configs:
        for density in DENSITIES:
            report(f"{config.name}: sweep, density {density}")
            yield {"sweep": "density", "channels": config.channels} | _density(config, density)
    for size, number in SIZES.items():
        report(f"{widest.name}: sweep, {size:,} bytes")
        written, read = (
            back_to_back(widest, size, 0.55, number, way).share for way in (OFFLOAD, PREFETCH)
        )
        point = {"sweep": "size", "channels": widest.channels, "bytes": size}
        yield point | {"written": written, "read": read}
    for density in (0.5, 0.1):
        for latency in LATENCIES:
            report(f"{widest.name}: sweep, latency {latency}, density {density}")
            _, written = outward(widest, words(widest, NBYTES, density), latency)
            point = {"sweep": "latency", "channels": widest.channels, "latency": latency}
            yield point | {"density": density, "written": written.share}


def _density(config: EngineConfig, density: float) -> dict:
    array = words(config, NBYTES, density)
    done = trip(config, array, counters=True)
    out, channels = done.out, range(config.channels)
    cycles = out.completion.cycles

    def share(name):
        return sum(out.counters[f"{name}[{c}]"] for c in channels) / config.channels / cycles

    return {
        "density": density,
        "ratio": array.nbytes / out.completion.stream_bytes,
        "written": done.written.share,
        "read": done.read.share,
        "raw_bytes_per_cycle": array.nbytes / done.written.cycles,
        "shares": {name: share(name) for name in COUNTED},
    }
