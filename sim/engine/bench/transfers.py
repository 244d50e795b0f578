"""Measured transfers: beats on the link, and cycles from one event at a port to another."""

from dataclasses import dataclass

import numpy as np

from cdma.engine_codes import Op
from cdma.engine_config import COMPLETION_BYTES, INDEX_BYTES, EngineConfig
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.golden.zvc.words import to_words
from cdma.sim.engine.engine import DEVICE, HOST, Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, EngineModel, Job
from cdma.sim.engine.pins import CHANNELS

DEVICE_LATENCY, HOST_LATENCY = 350, 500
_AR, _R, _B = (CHANNELS.index(name) for name in ("ar", "r", "b"))
_STREAM, _INDEX = 0, 1  # IDs of the link
#: Cycles from a burst's last beat to its B, in addition to the latency of the memory model.
_RESPONSE = 1
#: Cycles after which a ring that was told to run is idle.
_START = 100


@dataclass(frozen=True)
class Span:
    """Beats of the link during some cycles.

    Attributes
    ----------
    beats, cycles : int
    """

    beats: int
    cycles: int

    @property
    def share(self) -> float:
        """Part of the cycles with a beat."""
        return self.beats / self.cycles


def words(config: EngineConfig, nbytes: int, density: float, seed: int = 0) -> np.ndarray:
    """Random words, each non-zero with probability ``density``. Shape (nbytes / word_bytes,)."""
    rng = np.random.default_rng([seed, nbytes, round(1000 * density)])
    count = nbytes // config.word_bytes
    values = rng.integers(1, 1 << min(config.word_bits, 31), count)
    return np.where(rng.random(count) < density, values, 0).astype(config.format.dtype)


def _model(config: EngineConfig, latency: int, host: int) -> EngineModel:
    """An engine fresh from reset, with memories of constant latency."""
    return EngineModel(config, Memory(latency=latency), Memory(latency=host))


@dataclass(frozen=True, eq=False)
class Trip:
    """A tensor on its way out and back.

    Attributes
    ----------
    out, back : Job
    written, read : Span
        Beats of stream and index that were written, beats of the stream that were read, from the
        first to the last.
    empty : int
        Beats that were written with no byte enabled, at all ports.
    """

    out: Job
    back: Job
    written: Span
    read: Span
    empty: int


def trip(
    config: EngineConfig,
    array: np.ndarray,
    raw: str = "never",
    latency: int = DEVICE_LATENCY,
    host: int = HOST_LATENCY,
    *,
    crc: bool = False,
    counters: bool = False,
) -> Trip:
    """Offload a tensor with an engine fresh from reset, and prefetch it.

    Parameters
    ----------
    config : EngineConfig
    array : np.ndarray
        Words of the engine's width.
    raw : str
        ``never``, ``auto`` or ``always``.
    latency, host : int
        Latencies of device and host memory in cycles.
    crc : bool
        Write CRCs to the index, and check them on the way back.
    counters : bool
        Take the engine's counters.

    Raises
    ------
    UserError, SimulationError
        See :class:`~cdma.sim.engine.model.EngineModel`; also when the tensor does not come back.
    """
    model, out, written = _outward(config, array, raw, latency, host, crc=crc, counters=counters)
    engine, link = model.engine, model.engine.link
    engine.start_log(link)
    back = model.prefetch(out, crc=crc, counters=counters)
    log = engine.log(link)
    asks = log["cycle"][(log["channel"] == _AR) & (log["id"] == _STREAM)]
    cycles = _last(log, _R) - int(asks.min()) - host
    read = Span(_beats(out.completion.stream_bytes, config), cycles)
    words_ = to_words(np.asarray(array))
    if out.status or back.status or not np.array_equal(back.output.view(words_.dtype), words_):
        raise SimulationError(f"{config.name}: a tensor did not come back")
    found = Trip(out, back, written, read, _empty_beats(model, out, back))
    engine.close()
    return found


def outward(
    config: EngineConfig, array: np.ndarray, latency: int = DEVICE_LATENCY
) -> tuple[Job, Span]:
    """Only offload a tensor, as :func:`trip` does: the job, and the beats that were written."""
    model, out, written = _outward(config, array, "never", latency, HOST_LATENCY)
    model.engine.close()
    return out, written


def _outward(config, array, raw, latency, host, *, crc=False, counters=False):
    model = _model(config, latency, host)
    engine, link = model.engine, model.engine.link
    engine.start_log(link)
    out = model.offload(array, raw, crc=crc, counters=counters)
    counts = engine.counts(link)
    last = _last(engine.log(link), _B) - host - _RESPONSE
    beats = counts["write_beats"] - _beats(COMPLETION_BYTES, config)
    return model, out, Span(beats, last - counts["first_write_beat"] + 1)


def _last(log: np.ndarray, channel: int) -> int:
    """Cycle of the last event of streams and indexes on a channel."""
    return int(log["cycle"][(log["channel"] == channel) & (log["id"] <= _INDEX)].max())


def _beats(nbytes: int, config: EngineConfig) -> int:
    """Fewest beats of the link for bytes that begin with a beat."""
    return -(-nbytes // config.link_bytes)


def _empty_beats(model: EngineModel, out: Job, back: Job) -> int:
    """Write beats beyond the fewest that have room for the bytes: those have no byte enabled.

    Streams, indexes and tensors begin with a beat here, so the fewest beats follow from the sizes.
    """
    config, engine = model.config, model.engine
    sizes = (out.completion.stream_bytes, out.index.size, COMPLETION_BYTES, COMPLETION_BYTES)
    least = sum(_beats(size, config) for size in sizes)
    least += -(-back.output.nbytes // config.beat_bytes)
    return sum(engine.counts(port)["write_beats"] for port in range(config.channels + 1)) - least


def bound(array: np.ndarray, config: EngineConfig, device: int, raw: str = "never") -> int:
    """Beats of the busiest part: the codec of a channel, on either side, or the link.

    The link carries the stream and the index.
    """
    memory, sizes, index = _stripes(array, config, raw)
    first = device // config.stripe_bytes
    channel = (first + np.arange(sizes.size)) % config.channels
    beats = [
        int(max(np.sum(-(-side[channel == c] // config.beat_bytes)) for side in (memory, sizes)))
        for c in range(config.channels)
    ]
    return max(*beats, _beats(int(sizes.sum()), config) + index)


def least(
    array: np.ndarray, config: EngineConfig, device: int, way: str, raw: str = "never"
) -> int:
    """Fewest cycles, latencies not counted, of any engine of this size with its streams in order.

    The largest of ``cdma.golden.engine.cycles``, of the beats of the link, and of what follows from
    the order: while the first stripe is read, no later one can be on the link, and while the last
    one is decoded, nothing is left for the link. The index counts in an offload only: that of a
    prefetch can come while the stream's first beat is waited for.
    """
    memory, sizes, index = _stripes(array, config, raw)
    alone = 0 if way == "offload" else -1
    link = _beats(int(sizes.sum()), config) + (index if way == "offload" else 0)
    codec = int(memory[alone]) // config.beat_bytes
    others = link - _beats(int(sizes[alone]), config)
    golds = golden.cycles(array, config, raw, device, latency=0, direction=way)
    return max(link, codec + others, golds)


def _stripes(array, config, raw):
    """Bytes of each stripe in memory and in the stream, and beats of the index."""
    sent = golden.offload(array, config, raw)
    flags = sent.index.view("<u4")[::2]
    sizes = (flags & 0xFFFFFF).astype(np.int64)
    memory = np.full(sizes.size, config.stripe_bytes)
    memory[-1] = to_words(array).nbytes - config.stripe_bytes * (sizes.size - 1)
    return memory, sizes, _beats(sent.index.size, config)


def back_to_back(
    config: EngineConfig, nbytes: int, density: float, number: int, direction: int = OFFLOAD
) -> Span:
    """Beats of the link while descriptors of ``nbytes`` follow one another.

    All descriptors, at most 64, are in the ring before the doorbell. The span is from one
    completion that software sees to another: the first quarter of the descriptors and the last are
    left out. All beats count: descriptors or completions, index, stream. The quarter must be longer
    than the 1,500 cycles by which a completion follows the data: else the last beats are missing.

    Raises
    ------
    UserError, SimulationError
        See :func:`trip`; also when a descriptor fails.
    """
    model = _model(config, DEVICE_LATENCY, HOST_LATENCY)
    engine = model.engine
    for k in range(number):
        model.place(direction, _descriptor(model, direction, words(config, nbytes, density, k)))
    model.doorbell(direction)
    name = "write_beats" if direction == OFFLOAD else "read_beats"
    seen = []
    for _ in range(number):
        if model.wait(direction).status:
            raise SimulationError(f"{config.name}: a descriptor of {nbytes:,} bytes failed")
        seen.append((engine.cycle, engine.counts(engine.link)[name]))
    engine.close()
    (cycle, beats), (last_cycle, last_beats) = seen[number // 4], seen[-1 - number // 4]
    return Span(last_beats - beats, last_cycle - cycle)


def _descriptor(model: EngineModel, direction: int, array: np.ndarray) -> Descriptor:
    """A descriptor with buffers of its own."""
    config = model.config
    size = array.nbytes
    common = {"word_bytes": config.word_bytes, "row_bytes": size, "with_index": True}
    if direction == OFFLOAD:
        limit = config.bound(size)
        index = model.allocate(HOST, INDEX_BYTES * config.stripes(size))
        host = model.allocate(HOST, limit)
        tensor = model.place_tensor(array)
        return Descriptor(
            Op.OFFLOAD, tensor.address, host.address, index.address, limit=limit, **common
        )
    sent = golden.offload(array, config)
    lap = config.stripe_bytes * config.channels
    index = model.allocate(HOST, sent.index.size, writable=False)
    index.data[:] = sent.index
    host = model.allocate(HOST, sent.stream.size, writable=False)
    host.data[:] = sent.stream
    tensor = model.allocate(DEVICE, size, align=lap)
    return Descriptor(
        Op.PREFETCH,
        tensor.address,
        host.address,
        index.address,
        limit=sent.stream.size,
        **common,
    )


def reaction(config: EngineConfig, nbytes: int = 4096, direction: int = OFFLOAD) -> tuple[int, int]:
    """Cycles of an idle ring: doorbell to ARVALID of the descriptor; its last R to the next read.

    The doorbell counts from the handshake of its data. The next read is that of the first data,
    to ARVALID at its channel; of a prefetch that of the index, at the link.
    """
    model = _model(config, DEVICE_LATENCY, HOST_LATENCY)
    engine = model.engine
    engine.run(_START)
    for port in range(config.channels + 1):
        engine.start_log(port)
    model.place(direction, _descriptor(model, direction, words(config, nbytes, 0.5)))
    written = model.doorbell(direction)
    model.wait(direction)
    log = engine.log(engine.link)
    asks = log["cycle"][log["channel"] == _AR].tolist()
    arrived = int(log["cycle"][log["channel"] == _R][0])
    first = asks[1] if direction != OFFLOAD else _first_read(engine, config.channels)
    engine.close()
    return asks[0] - written, first - arrived


def _first_read(engine: Engine, channels: int) -> int:
    """Cycle of the first ARVALID of all channels."""
    logs = [engine.log(channel) for channel in range(channels)]
    return min(int(each["cycle"][each["channel"] == _AR][0]) for each in logs if each.size)
