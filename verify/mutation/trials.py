"""Stimulus for the mutants: from the regression and the fuzzer, the most effective first.

A trial has the checks of the regression: the outputs, the number of cycles, the cost of a stall,
the stalled beats, and the cycle of every handshake.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cdma.hdl.codecs import UnitConfig
from cdma.sim import stimulus
from cdma.sim.compiled.unit import Played
from cdma.sim.result import Scenario
from cdma.verify.fuzz.units import make_batch

#: Number of fuzzer batches for the first, the further and the late trials, cumulative.
FIRST_BATCHES, BATCHES, LATE_BATCHES = 2, 12, 150


@dataclass(frozen=True)
class Trial:
    """A scenario, and further checks.

    Parameters
    ----------
    name : str
    scenario : Scenario
    lost : int or None
        Maximum number of additional cycles, compared with a run without the stall.
    cycles : int or None
        Stop after this number of cycles, and check the output up to then.
    check : callable or None
        Function of a run. Returns the failed check, or an empty text.
    is_timed : bool
        Whether the cycles are recorded, see :mod:`cdma.verify.cycles`.
    """

    name: str
    scenario: Scenario
    lost: int | None = None
    cycles: int | None = None
    check: Callable[[Played], str] | None = None
    is_timed: bool = False


def first_trials(unit: str, config: UnitConfig, seed: int = 0) -> Iterator[Trial]:
    """Trials for every mutant: 50,000 cycles, which kill nine of ten killed mutants.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : UnitConfig
        Size of the unit.
    seed : int
        Seed of all random choices.
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


def trials(unit: str, config: UnitConfig, seed: int = 0) -> Iterator[Trial]:
    """Trials for mutants that survive :func:`first_trials`, with the same parameters."""
    rng = np.random.default_rng([seed, 2])
    yield from _resets(stimulus.fed(unit, stimulus.packets(config, seed + 1), config), rng)
    yield from _held(unit, config)
    yield from _single(unit, config, rng)
    if config.codec == "zvc":  # about words that are as wide as the stream's units
        yield from _full(unit, config)
    yield from _batches(unit, config, seed, range(FIRST_BATCHES, BATCHES))
    # Counts of more than two bytes, also in the two buffered statuses.
    words = stimulus.random_words((1 << 16) + 300, 0.7, config.format, rng)
    several = [words, *[words[:count] for count in (40_000, 65_600, 9_000, 65_800)]]
    stall = {"status": "always-but-one:25000"}
    yield Trial("long packets", Scenario(stimulus.fed(unit, several, config), stall, seed))
    spans = stimulus.span_packets(config, np.random.default_rng([seed, 5]))
    if spans:
        scenario = Scenario(stimulus.fed(unit, spans, config), seed=seed)
        yield Trial("spans of exponents", scenario, is_timed=True)
    if _has_commands(unit, config):
        # A command of more words than a run can finish: the packet must not end early.
        block, _ = stimulus.fed(unit, [words[: config.format.block_words]], config)[0]
        for bit in range(16, 32):
            for more in (0, 1):
                packet = (block, (1 << bit) + more)
                scenario = Scenario([packet], seed=seed)
                yield Trial(f"command of 2**{bit} + {more} words", scenario, cycles=2000)


def late_trials(unit: str, config: UnitConfig, seed: int = 0) -> Iterator[Trial]:
    """Trials for mutants that survive :func:`trials` and have no proof by single steps."""
    yield from _batches(unit, config, seed, range(BATCHES, LATE_BATCHES))


def _has_commands(unit, config):
    return unit == "decompressor" and not config.format.ends_itself


def _batches(unit, config, seed, numbers):
    for number in numbers:
        scenario = make_batch(unit, config, seed, number).scenario
        yield Trial(f"fuzz batch {number}", scenario, is_timed=number < BATCHES)


def _single(unit, config, rng):
    """Single packets in the minimum number of cycles, also with a stall at one port."""
    mixes = stimulus.fed(unit, stimulus.block_mix_packets(config, rng), config)
    yield Trial("mixed blocks", Scenario(mixes))
    for index, mix in enumerate(mixes):
        yield Trial(f"mixed blocks {index}", Scenario([mix]))
    blocks = [
        stimulus.random_words(config.format.block_words, density, config.format, rng)
        for density in (0.5, 1.0, 0.0, 0.2, 0.9, 0.0, 0.7) * 2
    ]
    packet = stimulus.fed(unit, [np.concatenate(blocks)], config)
    for port in ("source", "sink", *(["command"] if _has_commands(unit, config) else [])):
        for cycles in (1, 3, 17):
            for at in range(0, 60, 4):
                stall = {port: f"paused:{cycles},{at}"}
                name = f"{port} stalls for {cycles} cycles in cycle {at}"
                yield Trial(name, Scenario(packet, stall), lost=cycles)


def _full(unit, config):
    """A packet whose last beat begins a block in the last lane of a row: this beat completes the
    largest number of rows at once. In some runs, its rows fill the ring after a stalled row, and
    before a partial block."""
    fmt, lanes = config.format, config.lanes
    words = np.ones(fmt.block_words + lanes, fmt.dtype)
    packets = []
    # The last word of the previous block is in the second to last lane.
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
    """A reset in each of the first cycles, followed by other packets."""
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
    """Outputs that stall for a long time."""
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
    """With two buffered statuses and one pending, the unit must stall the fourth packet's beat."""
    late = played.ports["m_axis"].packets["last_cycle"][:5] > 500
    return "" if late.tolist() == [False] * 3 + [True] * 2 else "other beats are held"
