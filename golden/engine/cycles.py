"""Lower bound of an engine's cycles for a tensor: a recurrence over its stripes.

The bound includes only limits of every engine of this size: one beat per cycle and channel, one
link beat per cycle, stripes in order on the link, the buffer sizes, and the latency of each memory.
A real engine adds the latency of its pipeline.
"""

import math
from dataclasses import dataclass

import numpy as np

from cdma.engine_codes import Raw
from cdma.engine_config import EngineConfig
from cdma.golden.codecs import codec_of
from cdma.golden.engine import stripes
from cdma.golden.engine.offload import offload


@dataclass(frozen=True, eq=False)
class _Job:
    """The stripes of a tensor, as lists of length (stripes,)."""

    memory: list[int]
    sizes: list[int]
    raw: list[bool]
    channels: list[int]


def cycles(
    array,
    config: EngineConfig,
    raw: str | Raw = "auto",
    device: int = 0,
    rows: int = 1,
    pitch: int = 0,
    latency: int | None = None,
    host_latency: int = 0,
    direction: str = "offload",
) -> int:
    """Lower bound of the cycles from the first address of a tensor to its last beat.

    Parameters
    ----------
    array : array_like
        The tensor, as for :func:`~cdma.golden.engine.offload.offload`.
    config : EngineConfig
        Size of the engine.
    raw : str or Raw
        Raw policy: selects the raw stripes.
    device, rows, pitch : int
        Placement of the tensor, which determines the channel of each stripe.
    latency : int or None
        Cycles from a read address to its data at the channels; ``None`` is ``config.latency``.
    host_latency : int
        The same at the link. It is added once, for prefetches only.
    direction : str
        ``"offload"`` or ``"prefetch"``.

    Returns
    -------
    int
        Cycles; 0 for an empty tensor.

    Raises
    ------
    TypeError, ValueError
        When an argument has a wrong type or value.
    """
    if direction not in ("offload", "prefetch"):
        raise ValueError(f"Direction must be offload or prefetch, not {direction!r}")
    words = codec_of(config.format).words_of(np.asarray(array), config.format)
    sent = offload(words, config, raw=raw)
    flags = sent.index.view("<u4")[::2]
    nbytes = words.nbytes
    if rows > 1 and nbytes % (rows * config.stripe_bytes):
        raise ValueError(f"Rows must be whole stripes, not {nbytes} bytes in {rows} rows")
    addresses = stripes.placement(config, device, nbytes // max(rows, 1), rows, pitch)
    job = _Job(
        memory=stripes.memory_sizes(nbytes, config).tolist(),
        sizes=config.padded((flags & 0xFFFFFF).astype(np.int64)).tolist(),
        raw=(flags >> 24 & 1).astype(bool).tolist(),
        channels=stripes.channels_of(config, addresses).tolist(),
    )
    if not job.memory:
        return 0
    if direction == "offload":
        policy = stripes.raw_policy(raw)
        return _offload(job, config, config.latency if latency is None else latency, policy)
    return _prefetch(job, config, host_latency)


class _Buffer:
    """The stripes in the buffer of one channel, in order."""

    def __init__(self, size: int, rate: int):
        self._size, self._rate = size, rate
        self._held, self._stripes = 0, []

    def put(self, nbytes: int) -> float:
        """Add a stripe. Returns the earliest cycle with room for the whole stripe."""
        self._held += nbytes
        earliest = 0.0
        while self._held > self._size and self._stripes:
            amount, begun = self._stripes[0]
            over = self._held - self._size
            earliest = begun + min(over, amount) / self._rate
            if over < amount:
                break
            self._held -= amount
            self._stripes.pop(0)
        return earliest

    def begin(self, nbytes: int, cycle: float) -> None:
        """The last stripe added leaves from ``cycle``, at ``rate`` bytes per cycle."""
        self._stripes.append((nbytes, cycle))


def _cost(memory: int, size: int, config: EngineConfig) -> int:
    """Cycles of a stripe in its codec: the larger of its word beats and its stream beats."""
    return -(-max(memory, size) // config.beat_bytes)


def _offload(job: _Job, config: EngineConfig, latency: int, policy: Raw) -> int:
    """Memory -> codec -> STAGE -> link.

    ``coded[k]`` is the cycle in which the last beat of stripe k is coded. Its last burst is issued
    when STAGE has room for the whole stripe, and arrives one latency later. The link sends bytes
    only after their words have arrived, and the last byte only after it is coded.
    """
    ready = [float(latency)] * config.channels  # earliest arrival of the next stripe's words
    stage = [_Buffer(config.stage_bytes, config.link_bytes) for _ in range(config.channels)]
    coded = []
    link = 0.0  # cycle in which the link has sent all earlier stripes
    for k, (memory, size, c) in enumerate(zip(job.memory, job.sizes, job.channels, strict=True)):
        start = ready[c]
        if policy == Raw.AUTO and k >= config.auto_distance:
            start = max(start, coded[k - config.auto_distance] + latency)
        issue = stage[c].put(size)
        ready[c] = max(start + _cost(memory, size, config), issue + latency)
        coded.append(ready[c])
        begin = max(link, start)
        stage[c].begin(size, begin)
        link = max(begin + size / config.link_bytes, coded[k])
    return math.ceil(link)


def _prefetch(job: _Job, config: EngineConfig, latency: int) -> int:
    """Link -> QUEUE -> codec -> memory.

    The last byte of a stripe arrives when its QUEUE and the link's buffer have room for the whole
    stripe. The codec starts a stripe at its first byte and finishes after its last byte.
    """
    ready = [0.0] * config.channels
    room = config.queue_bytes + config.link_fifo_bytes
    queue = [_Buffer(room, config.beat_bytes) for _ in range(config.channels)]
    link = float(latency)  # cycle in which all earlier bytes have arrived
    for memory, size, c in zip(job.memory, job.sizes, job.channels, strict=True):
        begin = max(ready[c], link)
        link = max(link + size / config.link_bytes, queue[c].put(size))
        queue[c].begin(size, begin)
        ready[c] = max(begin + _cost(memory, size, config), link)
    return math.ceil(max(ready))
