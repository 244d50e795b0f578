"""The stimulus for coverage measurements, a part of the regression."""

from collections.abc import Iterator

import numpy as np

from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.sim.result import Scenario
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


def scenarios(unit: str, config: Config, seed: int = 0, batches: int = 8) -> Iterator[Scenario]:
    """Yield runs on a unit: the packets of :mod:`cdma.sim.stimulus` with each back-pressure
    profile, a packet of each length of a block, a long packet, then batches of the fuzzer.

    Parameters
    ----------
    unit : str
        ``compressor``, or ``decompressor``, which also gets malformed streams.
    config : Config
        Size of the unit.
    seed : int
        Seed of all random choices.
    batches : int
        Number of batches of the fuzzer.
    """
    for number, stall in enumerate(STALLS):
        if unit == "compressor" and "command" in stall:
            continue
        rng = np.random.default_rng([seed, number])
        packets = stimulus.packets(config, seed + number)
        packets += stimulus.block_mix_packets(config, rng, 6)
        packets.append(every_place(config))
        if unit == "decompressor":
            packets = stimulus.streams(packets, config) + stimulus.malformed(config, rng)
            packets += marked(config, rng)
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


def every_place(config: Config) -> np.ndarray:
    """Words that cover all placements: empty, mixed and full blocks that begin in each lane of the
    stream, and beats with each number of words from each lane."""
    fmt = config.format
    lanes = config.lanes
    wanted = [(lane, ones, fmt.mask_words) for lane in range(lanes) for ones in range(1, lanes + 1)]
    wanted += [(lane, ones, 0) for lane in range(lanes) for ones in (0, 1, fmt.block_words)]
    blocks, at = [], 0
    for lane, ones, behind in wanted:
        # Number of words in a filler block, so that the next beat begins in its lane.
        filling = (lane - behind - fmt.mask_words - at) % lanes
        for count in (filling, ones):
            block = np.zeros(fmt.block_words, fmt.dtype)
            block[:count] = np.arange(1, count + 1) % 251 + 1
            blocks.append(block)
            at += fmt.mask_words + count
    return np.concatenate(blocks)


def marked(config: Config, rng: np.random.Generator) -> list[tuple[bytes, int]]:
    """Streams of a block and a partial block, with a bit past the end in each beat of the mask.

    Each variant exists with no word, one word and two words for the bit.
    """
    fmt = config.format
    packets = []
    for end in range(1, fmt.block_words, max(config.lanes // 2, 1)):
        count = fmt.block_words + end
        words = stimulus.random_words(count, 0.5, fmt, rng)
        ((stream, _),) = stimulus.streams([words], config)
        last = fmt.stream_bytes(fmt.block_words, np.count_nonzero(words[: fmt.block_words]))
        bit = int(rng.integers(end, min(end + config.lanes, fmt.block_words)))
        spoiled = bytearray(stream)
        spoiled[last + bit // 8] |= 1 << bit % 8
        packets += [(bytes(spoiled) + rng.bytes(more * fmt.word_bytes), count) for more in range(3)]
    return packets
