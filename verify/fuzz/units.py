"""Random packets, good and damaged, in batches.

Each batch has its own back-pressure, junk and resets. It depends only on the seed and its number,
so a single batch can be replayed and many batches can run in parallel.
"""

from dataclasses import dataclass

import numpy as np

from cdma.golden.codecs import codec_of
from cdma.hdl.codecs import UnitConfig
from cdma.sim import damage as damage_of
from cdma.sim.backpressure import PORTS, UNIT_PORTS
from cdma.sim.result import Scenario
from cdma.sim.stimulus import lengths, offered, random_words, with_zeros_of
from cdma.sim.typed import Typed, part_of

#: Packets per batch. For the decompressor, only the damaged packets count.
BATCH_PACKETS = 500


@dataclass(frozen=True)
class Batch:
    """A scenario, and a description of each of its packets."""

    scenario: Scenario
    kinds: list[str]


def make_batch(unit: str, config: UnitConfig, seed: int, number: int) -> Batch:
    """Batch ``number`` of the run with this ``seed``.

    A quarter of the batches has no back-pressure. The others have a separate profile on each port.
    Half of the batches drive junk on idle ports. A quarter is reset in the middle and restarted.
    """
    rng = np.random.default_rng([seed, number])
    packets, kinds = (_typed if config.parts else _packets)(unit, config, rng, BATCH_PACKETS)
    stall = "never"
    if rng.random() < 0.75:  # drawn for all ports, so that a seed means the same for each unit
        drawn = {port: _stall(rng) for port in PORTS}
        ports = PORTS if config.parts else UNIT_PORTS[unit]
        stall = {port: drawn[port] for port in ports}
    scenario = Scenario(
        packets,
        stall=stall,
        seed=int(rng.integers(1 << 31)),
        name=f"batch {number}",
        reset_at=int(rng.integers(1, 400)) if rng.random() < 0.25 else None,
        is_dirty=bool(rng.random() < 0.5),
    )
    return Batch(scenario, kinds)


def _packets(unit, config, rng, count):
    """Packets, and a description of each."""
    words = [_words(config, rng) for _ in range(count)]
    if unit == "decompressor":
        return _streams(words, config, rng)
    return words, ["good"] * len(words)


def _typed(unit, config, rng, count):
    """Packets of random types, some as the one before; some numbers are of no type of the unit."""
    parts, packets, kinds = config.parts, [], []
    numbers, type_ = [*parts, 4, 255], 0
    for _ in range(count):
        if rng.random() < 0.7:
            type_ = int(rng.choice(numbers))
        made, about = _packets(unit, part_of(config, type_), rng, 1)
        packets += [Typed(type_, packet) for packet in made]
        kinds += [f"{kind}, type {type_}" for kind in about]
    return packets, kinds


def damage(
    stream: bytes, count: int, config: UnitConfig, rng: np.random.Generator
) -> tuple[str, bytes, int]:
    """Damage a stream or its word count at random. Returns kind of damage, stream and count."""
    kind = _DAMAGES[rng.integers(len(_DAMAGES))]
    return kind.__name__.lstrip("_"), *kind(stream, count, config, rng)


_LENGTHS = (0.48, 0.48, 0.04)


def _words(config, rng):
    """A random packet: mostly short, often near multiples of a beat or block, rarely long."""
    fmt = config.format
    if rng.random() < 0.5:
        count = int(rng.choice(lengths(config)))
    else:
        around = rng.choice([config.lanes, fmt.block_words, 12 * fmt.block_words], p=_LENGTHS)
        count = int(rng.integers(0, 3 * around))
    density = float(rng.choice([0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1]))
    if rng.random() < 0.8:
        return with_zeros_of(fmt, random_words(count, density, fmt, rng))
    # Some blocks are dense, some are empty.
    dense = np.repeat(rng.random(-(-count // fmt.block_words)) < density, fmt.block_words)
    return with_zeros_of(fmt, random_words(count, 1, fmt, rng) * dense[:count])


def _streams(words, config, rng):
    """Damaged streams. A good stream follows half of them."""
    packets, kinds = [], []
    for packet in words:
        stream = codec_of(config.format).compress(packet, config.format).tobytes()
        kind, *damaged = damage(stream, packet.size, config, rng)
        packets.append(tuple(damaged))
        kinds.append(kind)
        if rng.random() < 0.5:
            packets.append((stream, packet.size))
            kinds.append("good")
    return offered(packets, config), kinds


def _stall(rng):
    draw = rng.integers
    return [
        "never",
        f"bernoulli:{rng.uniform(0.05, 0.9):.2f}",
        f"bursts:{draw(1, 20)},{draw(1, 20)}",
        "alternating",
        f"always-but-one:{draw(2, 30)}",
        f"paused:{draw(1, 300)},{draw(0, 300)}",
    ][draw(6)]


def _truncated(stream, count, config, rng):
    return stream[: rng.integers(len(stream) + 1)], count


def _extended(stream, count, config, rng):
    most = config.beat_bytes * (3 if rng.random() < 0.95 else 100)
    return stream + rng.bytes(int(rng.integers(1, most + 1))), count


def _flipped(stream, count, config, rng):
    """Flip one to four bits, at least one of them in the first mask."""
    spoiled = np.frombuffer(stream, np.uint8).copy()
    if spoiled.size:
        bits = rng.integers(0, 8 * spoiled.size, rng.integers(1, 5))
        bits[0] %= config.format.block_words
        np.bitwise_xor.at(spoiled, bits // 8, (1 << bits % 8).astype(np.uint8))
    return spoiled.tobytes(), count


def _marked(stream, count, config, rng):
    """Mark a word past the end, or make another error of the codec; else extend the stream."""
    found = damage_of.marked(stream, count, config, rng)
    return found or _extended(stream, count, config, rng)


def _dropped(stream, count, config, rng):
    """Remove a beat."""
    beats = -(-len(stream) // config.beat_bytes)
    at = int(rng.integers(max(beats, 1))) * config.beat_bytes
    return stream[:at] + stream[at + config.beat_bytes :], count


def _miscounted(stream, count, config, rng):
    near = [0, count - 1, count + 1, count + config.lanes, count - config.format.block_words]
    counts = [*near, count + config.format.block_words, int(rng.integers(0, 4 * count + 100))]
    return stream, max(0, int(rng.choice(counts)))


def _noise(stream, count, config, rng):
    most = 4 * config.format.block_words
    size = int(rng.integers(0, most * config.format.word_bytes))
    return rng.bytes(size), int(rng.integers(0, most))


_DAMAGES = (_truncated, _extended, _flipped, _marked, _dropped, _miscounted, _noise)
