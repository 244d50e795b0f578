"""The stimulus for coverage measurements, a part of the regression."""

from collections.abc import Iterator

import numpy as np

from cdma.hdl.codecs import UnitConfig
from cdma.sim import stimulus
from cdma.sim.result import Scenario
from cdma.verify.coverage.codecs import codec_of
from cdma.verify.fuzz.units import make_batch

#: Back-pressure profiles: on all ports, and on single ports.
STALLS = (
    *("never", "bernoulli:0.2", "bernoulli:0.8", "bursts:5,7"),
    {"sink": "always-but-one:5"},
    {"source": "always-but-one:3"},
    {"status": "always-but-one:40"},
    {"command": "always-but-one:40"},
    {"command": "paused:300"},
)


def scenarios(unit: str, config: UnitConfig, seed: int = 0, batches: int = 8) -> Iterator[Scenario]:
    """Yield runs on a unit: the packets of :mod:`cdma.sim.stimulus` with each back-pressure
    profile, a packet of each length of a block, a long packet, then batches of the fuzzer.

    Parameters
    ----------
    unit : str
        ``compressor``, or ``decompressor``, which also gets malformed streams.
    config : UnitConfig
        Size of the unit.
    seed : int
        Seed of all random choices.
    batches : int
        Number of batches of the fuzzer.
    """
    for number, stall in enumerate(STALLS + codec_of(config).stalls):
        if unit == "compressor" and "command" in stall:
            continue
        rng = np.random.default_rng([seed, number])
        packets = stimulus.packets(config, seed + number)
        packets += stimulus.block_mix_packets(config, rng, 6)
        packets.append(codec_of(config).packet(config))
        if unit == "decompressor":
            packets = stimulus.streams(packets, config) + stimulus.malformed(config, rng)
            packets += codec_of(config).streams(config, rng)
        yield Scenario(packets, stall, seed + number, f"packets, stalls {stall}")
    # Fill the buffers with rows that contain only masks.
    words = [np.zeros(count * config.format.block_words, config.format.dtype) for count in (99, 40)]
    packets = stimulus.fed(unit, words, config)
    yield Scenario(packets, {"sink": "bursts:9,150"}, seed, "zeros before a slow sink")
    # A last block of each length, which random lengths of long blocks may leave out.
    counts = range(1, config.format.block_words + 1)
    packets = stimulus.fed(unit, [np.ones(n, config.format.dtype) for n in counts], config)
    yield Scenario(packets, seed=seed, name="a packet of each length of a block")
    # The counters carry out of their first parts. The next packet restarts them.
    words = [np.ones(count, config.format.dtype) for count in (1 << 17, 1)]
    packets = stimulus.fed(unit, words, config)
    yield Scenario(packets, seed=seed, name="a long packet")
    for number in range(batches):
        yield make_batch(unit, config, seed, number).scenario
