"""The engine's targets for speed, each with what was measured and a verdict."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.sim.engine.bench.transfers import (
    DEVICE_LATENCY,
    HOST_LATENCY,
    back_to_back,
    bound,
    least,
    outward,
    reaction,
    trip,
    words,
)
from cdma.sim.engine.model import OFFLOAD, PREFETCH

MET, MISSED = "met", "missed"
WAYS = ("offload", "prefetch")
#: Bytes of a whole transfer.
NBYTES = 1 << 20
#: Uniform densities, in addition to the one at the limit of the channels.
DENSITIES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.12)
#: The link can be full up to this part of the ratio that the memory channels can feed.
_FEEDABLE = 0.9
LATENCIES = (0, 50, 100, 200, 350)
#: Descriptors that follow one another, by bytes.
CHAINS = {65536: 16, 4096: 64}
_CHAIN_TARGETS = {65536: 0.97, 4096: 0.90}
_MOST_SPREAD = 0.02
#: Of the tensor with CRCs: the link is the bound of any number of channels.
_CRC_DENSITY = 0.5
COLUMNS = {
    "what": "what",
    "channels": "channels",
    "case": "case",
    "target": "target",
    "measured": "measured",
    "verdict": "verdict",
}


def measure(
    configs: Sequence[EngineConfig], progress: Callable[[str], None] | None = None
) -> Iterator[dict]:
    """Measure each target with engines of several sizes.

    Parameters
    ----------
    configs : sequence of EngineConfig
    progress : callable or None
        Called with the name of each measurement.

    Yields
    ------
    dict
        ``row`` (a short name), ``what``, ``channels``, ``case``, ``target``, ``measured``, and
        ``verdict``: ``met`` or ``missed``. Where cycles of a tensor are measured also ``least``:
        what no engine with streams in order can go below.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.bench.transfers.trip`.
    """
    report = progress or (lambda text: None)
    for config in configs:
        for rows in (_transfers, _tensors, _chains, _start_up, _latencies):
            for row in rows(config, report):
                yield {"channels": config.channels, "config": config.name} | row


def _row(name, what, case, target, measured, *, at_least=False, **more):
    is_met = measured >= target if at_least else measured <= target
    sign = ">=" if at_least else "<="
    return {
        "row": name,
        "what": what,
        "case": case,
        "limit": target,
        "target": f"{sign} {_shown(target)}",
        "value": measured,
        "measured": _shown(measured),
        "verdict": MET if is_met else MISSED,
    } | more


def _shown(value):
    return f"{value:.2%}" if isinstance(value, float) else f"{value:,}"


def most_ratio(config: EngineConfig) -> float:
    """The largest ratio at which the link must be full."""
    return _FEEDABLE * config.channels * config.beat_bytes / config.link_bytes


def least_density(config: EngineConfig) -> float:
    """The density of about :func:`most_ratio`, not above that ratio."""
    masks = config.format.mask_bytes / config.block_bytes
    return math.ceil(1000 * (1 / most_ratio(config) - masks) + 1) / 1000


def _transfers(config, report):
    """Uniform density: beats of the link, cycles, beats without a byte."""
    empty = 0
    constant = 64 + config.channels
    densities = sorted({*DENSITIES, least_density(config)}, reverse=True)
    for density, crc in (*((density, False) for density in densities), (_CRC_DENSITY, True)):
        report(f"{config.name}: density {density}{', CRC' * crc}")
        array = words(config, NBYTES, density)
        done = trip(config, array, crc=crc)
        empty += done.empty
        ratio = array.nbytes / done.out.completion.stream_bytes
        case = f"density {density}, ratio {ratio:.2f}{', CRC' * crc}"
        if ratio <= most_ratio(config):
            share = done.written.share
            yield _row("link", "link utilisation, offload", case, 0.98, share, at_least=True)
            share = done.read.share
            yield _row("link", "link utilisation, prefetch", case, 0.98, share, at_least=True)
        beats = bound(array, config, done.out.tensor.address)
        for way, job in zip(WAYS, (done.out, done.back), strict=True):
            limit = beats + _latency(way) + constant
            what = f"cycles of {way}, uniform"
            possible = _latency(way) + least(array, config, job.tensor.address, way)
            yield _row("uniform", what, case, limit, job.completion.cycles, least=possible)
    yield _row("empty", "write beats with no byte enabled", "all of these", 0, empty)


def _latency(way: str) -> int:
    """Latencies that a job cannot avoid: its first read, its last B; for a prefetch the index."""
    return DEVICE_LATENCY + HOST_LATENCY * (1 if way == "offload" else 2)


def tensors(config: EngineConfig) -> dict[str, np.ndarray]:
    """Tensors that are not uniform, by name."""
    halves = words(config, NBYTES, 0.9, 1)
    halves[halves.size // 2 :] = 0
    each = config.stripe_words
    stripes = words(config, NBYTES, 1.0, 2).reshape(-1, each)
    stripes[::2] = 0
    rng = np.random.default_rng(3)
    mixed = words(config, NBYTES, 1.0, 4).reshape(-1, each)
    mixed = np.where(rng.random(mixed.shape) < rng.random((len(mixed), 1)), mixed, 0)
    return {
        "first half dense, second empty": halves,
        "first half empty, second dense": halves[::-1].copy(),
        "every other stripe empty": stripes.reshape(-1),
        "density of each stripe random": mixed.reshape(-1).astype(halves.dtype),
    }


def _tensors(config, report):
    """Other tensors, with the policy AUTO, beside the golden recurrence."""
    for name, array in tensors(config).items():
        report(f"{config.name}: {name}")
        done = trip(config, array, "auto")
        for way, job in zip(WAYS, (done.out, done.back), strict=True):
            place = job.tensor.address
            beats = golden.cycles(array, config, "auto", place, latency=0, direction=way)
            limit = int(1.02 * beats) + _latency(way) + 64 + config.channels
            what = f"cycles of {way}, any tensor"
            possible = _latency(way) + least(array, config, place, way, "auto")
            yield _row("any", what, name, limit, job.completion.cycles, least=possible)


def _chains(config, report):
    """Descriptors back to back, ratio below 2."""
    for nbytes, number in CHAINS.items():
        for direction, way in ((OFFLOAD, "offload"), (PREFETCH, "prefetch")):
            report(f"{config.name}: descriptors of {nbytes:,} bytes, {way}")
            share = back_to_back(config, nbytes, 0.55, number, direction).share
            case = f"{nbytes // 1024} KiB, {way}"
            limit = _CHAIN_TARGETS[nbytes]
            yield _row("chain", "descriptors back to back", case, limit, share, at_least=True)


def _start_up(config, report):
    """An idle ring. A prefetch reads its index before its data."""
    for direction, way, read in ((OFFLOAD, "offload", "data"), (PREFETCH, "prefetch", "index")):
        report(f"{config.name}: start-up of the {way}")
        asked, first = reaction(config, direction=direction)
        yield _row("start", "doorbell to ARVALID", f"idle ring, {way}", 4, asked)
        what = f"descriptor's last R to the ARVALID of the {read}"
        yield _row("start", what, f"idle ring, {way}", 6, first)


def _latencies(config, report):
    """Cycles without the latency, over the latency of the device's memory."""
    for density in (0.5, 0.1):
        array, found = words(config, NBYTES, density), []
        for latency in LATENCIES:
            report(f"{config.name}: latency {latency}, density {density}")
            job, _ = outward(config, array, latency)
            found.append(job.completion.cycles - latency)
        case = f"density {density}, {LATENCIES[0]} to {LATENCIES[-1]} cycles"
        spread = max(found) / min(found) - 1
        yield _row("latency", "spread over the memory's latency", case, _MOST_SPREAD, spread)
