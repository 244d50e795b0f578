"""Sizes of engines for long random runs, each with its share of the jobs."""

from cdma.engine_config import EngineConfig

#: Buffers of most of the sizes: as small as short latencies allow, so that they fill up.
_SMALL = {"latency": 20, "link_fifo_bytes": 2048, "stripe_bytes": 1024}


def _plus(type_, share, **sizes):
    return EngineConfig(codec="zvcplus", type=type_, **{**_SMALL, **sizes}), share


#: Engines and their shares: most jobs with small engines, which take the least time for a cycle.
SIZES: tuple[tuple[EngineConfig, int], ...] = (
    (EngineConfig(channels=2, lanes=2, address_bits=33, **_SMALL), 29),
    (EngineConfig(channels=1, lanes=2, address_bits=32, **_SMALL), 20),
    (EngineConfig(channels=1, lanes=4, link_bytes=64, **_SMALL), 10),
    (EngineConfig(channels=2, lanes=4, word_bits=16, link_bytes=16, **_SMALL), 10),
    (EngineConfig(channels=4, lanes=2, link_bytes=32, address_bits=40, **_SMALL), 8),
    (EngineConfig(channels=2, lanes=8, word_bits=8, address_bits=60, **_SMALL), 6),
    (EngineConfig(channels=1, lanes=2, word_bits=64, **{**_SMALL, "stripe_bytes": 2048}), 4),
    (EngineConfig(channels=8, lanes=2, link_bytes=8, **_SMALL), 3),
    # The widest beat, and a narrow link.
    (EngineConfig(channels=1, lanes=64, word_bits=16, link_bytes=8, address_bits=64, **_SMALL), 1),
    (EngineConfig(channels=4, lanes=8), 2),
    _plus("fp32", 3, channels=1),
    _plus("bf16", 2, channels=2, link_bytes=32),
    _plus("int8", 2, channels=1, link_bytes=8),
)
