"""Stimulus of the mutants: that of the regression and of the fuzzer, the most effective first.

A trial checks what the regression checks, outputs and more: the number of cycles, the cost of a
stall, beats that are stalled, the cycle of every handshake.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.sim.compiled.unit import Played
from cdma.sim.result import Scenario
from cdma.verify.fuzz.units import make_batch

#: Batches of the fuzzer: up to where which mutants are played them.
FIRST_BATCHES, BATCHES, LATE_BATCHES = 2, 12, 150


@dataclass(frozen=True)
class Trial:
    """A scenario, and further checks.

    Parameters
    ----------
    name : str
    scenario : Scenario
    lost : int or None
        Cycles by which its stall may lengthen a run of the same packets without one.
    cycles : int or None
        Cut off after so many cycles; what came out up to there counts.
    check : callable or None
        Says what is wrong with a run, or nothing.
    is_timed : bool
        Its cycles are on record, see :mod:`cdma.verify.cycles`.
    """

    name: str
    scenario: Scenario
    lost: int | None = None
    cycles: int | None = None
    check: Callable[[Played], str] | None = None
    is_timed: bool = False


def first_trials(unit: str, config: Config, seed: int = 0) -> Iterator[Trial]:
    """What every mutant is played, fifty thousand cycles, which kill nine of ten that any kill.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : Config
        Its size.
    seed : int
        Seeds all that is random.
    """
    packets = stimulus.fed(unit, stimulus.packets(config, seed), config)
    yield Trial("few packets", Scenario(packets[:12], seed=seed))
    yield Trial("packets", Scenario(packets, seed=seed), is_timed=True)
    stalled = Scenario(packets, "bernoulli:0.4", seed, is_dirty=True)
    yield Trial("stalls and junk", stalled, is_timed=True)
    if unit == "decompressor":
        bad = stimulus.malformed(config, np.random.default_rng([seed, 1]))
        yield Trial("malformed", Scenario(bad, seed=seed), is_timed=True)
        stalled = Scenario(bad, "bernoulli:0.3", seed, is_dirty=True)
        yield Trial("malformed, stalls", stalled, is_timed=True)
    yield from _batches(unit, config, seed, range(FIRST_BATCHES))


def trials(unit: str, config: Config, seed: int = 0) -> Iterator[Trial]:
    """What those are played that :func:`first_trials` left, with its parameters."""
    rng = np.random.default_rng([seed, 2])
    yield from _resets(stimulus.fed(unit, stimulus.packets(config, seed + 1), config), rng)
    yield from _held(unit, config)
    yield from _single(unit, config, rng)
    yield from _full(unit, config)
    yield from _batches(unit, config, seed, range(FIRST_BATCHES, BATCHES))
    # Counts of more than two bytes, in two statuses that wait as well.
    words = stimulus.random_words((1 << 16) + 300, 0.7, config.format, rng)
    several = [words, *[words[:count] for count in (40_000, 65_600, 9_000, 65_800)]]
    stall = {"status": "always-but-one:25000"}
    yield Trial("long packets", Scenario(stimulus.fed(unit, several, config), stall, seed))
    if unit == "decompressor":
        # A command of more words than can be waited for must not end early, and has masks.
        block, _ = stimulus.fed(unit, [words[: config.format.block_words]], config)[0]
        for bit in range(16, 32):
            for more in (0, 1):
                packet = (block, (1 << bit) + more)
                scenario = Scenario([packet], seed=seed)
                yield Trial(f"command of 2**{bit} + {more} words", scenario, cycles=2000)


def late_trials(unit: str, config: Config, seed: int = 0) -> Iterator[Trial]:
    """What those are played that :func:`trials` left and no step by step proof is known of."""
    yield from _batches(unit, config, seed, range(BATCHES, LATE_BATCHES))


def _batches(unit, config, seed, numbers):
    for number in numbers:
        scenario = make_batch(unit, config, seed, number).scenario
        yield Trial(f"fuzz batch {number}", scenario, is_timed=number < BATCHES)


def _single(unit, config, rng):
    """Single packets in as few cycles as is promised, also when a port stalls for a while."""
    mixes = stimulus.fed(unit, stimulus.block_mix_packets(config, rng), config)
    yield Trial("mixed blocks", Scenario(mixes))
    for index, mix in enumerate(mixes):
        yield Trial(f"mixed blocks {index}", Scenario([mix]))
    blocks = [
        stimulus.random_words(config.format.block_words, density, config.format, rng)
        for density in (0.5, 1.0, 0.0, 0.2, 0.9, 0.0, 0.7) * 2
    ]
    packet = stimulus.fed(unit, [np.concatenate(blocks)], config)
    for port in ("source", "sink", *(["command"] if unit == "decompressor" else [])):
        for cycles in (1, 3, 17):
            for at in range(0, 60, 4):
                stall = {port: f"paused:{cycles},{at}"}
                name = f"{port} stalls for {cycles} cycles in cycle {at}"
                yield Trial(name, Scenario(packet, stall), lost=cycles)


def _full(unit, config):
    """A packet whose last beat begins a block in a row's last lane: no other completes so many rows
    at a time. In some runs they fill the ring behind a row that waits, and before a block that
    is not whole."""
    fmt, lanes = config.format, config.lanes
    words = np.ones(fmt.block_words + lanes, fmt.dtype)
    packets = []
    # The last word of the block before is in the last lane but one.
    for count in range((-2 - fmt.mask_words) % lanes + 1, fmt.block_words + 1, lanes):
        most = words.copy()
        most[count : fmt.block_words] = 0
        for behind in ([], [words], [words[:1]], [words, words[:1]]):
            packets += [most, *behind]
    packets = stimulus.fed(unit, packets * 6, config)
    for source, sink in (
        ("bursts:7,2", "alternating"),
        ("bursts:7,2", "bursts:9,1"),
        ("bernoulli:0.2", "bernoulli:0.3"),
        ("never", "bernoulli:0.6"),
    ):
        scenario = Scenario(packets, {"source": source, "sink": sink})
        yield Trial(f"full rows, source {source}, sink {sink}", scenario, is_timed=True)


def _resets(packets, rng):
    """A reset in each of the first cycles, with other packets after it."""
    for at in range(72):
        before, after = (
            [packets[index] for index in rng.permutation(len(packets))[:8]] for _ in range(2)
        )
        stall = "never" if at % 3 else "bernoulli:0.4"
        scenario = Scenario(
            after,
            stall,
            at,
            reset_at=at,
            reset_cycles=1 + at % 4,
            before=Scenario(before, stall, at),
            is_dirty=at % 2 == 1,
        )
        yield Trial(f"reset in cycle {at}", scenario)


def _held(unit, config):
    """Outputs that nobody takes."""
    fmt = config.format
    one = stimulus.fed(unit, [np.ones(1, fmt.dtype)] * 60, config)
    block = stimulus.fed(unit, [np.ones(fmt.block_words, fmt.dtype)] * 20, config)
    for port, prefix in (("sink", "m_axis"), ("status", "m_axis_sts")):
        for name, packets in (("words", one), ("blocks", block)):

            def check(played, prefix=prefix):
                stalls = played.ports[prefix].stalls
                return "" if stalls > 700 else f"{prefix}: valid waits for ready"

            scenario = Scenario(packets, {port: "paused:1000"})
            yield Trial(f"{name}, {port} late", scenario, check=check)
    yield Trial("status late", Scenario(one, {"status": "paused:500"}), check=_check_held_beats)


def _check_held_beats(played):
    """Two statuses wait in the unit and one is due: the fourth packet's beat is held."""
    late = played.ports["m_axis"].packets["last_cycle"][:5] > 500
    return "" if late.tolist() == [False] * 3 + [True] * 2 else "other beats are held"
