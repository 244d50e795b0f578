"""Random tensors: mostly short, with lengths around those of beats, stripes and laps."""

from random import Random

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.sim.stimulus import random_words

_DENSITIES = (0.0, 0.05, 0.3, 0.5, 0.9, 1.0)
#: Bytes of the longest tensor.
MOST_BYTES = 1 << 18
#: Most rows of a tensor, stripes of a row, and stripes from one row to the next.
MOST_ROWS, MOST_STRIPES, MOST_STEP = 5, 2, 3
#: Share of the tensors that are long enough for AUTO to act.
_LONG = 0.004


class Words:
    """Random words, cut from words and masks that are drawn once.

    Parameters
    ----------
    config : EngineConfig
    rng : np.random.Generator
        Draws the words.
    lengths : str
        See :class:`cdma.verify.fuzz.engine.moods.Mood`.
    """

    def __init__(self, config: EngineConfig, rng: np.random.Generator, lengths: str = "usual"):
        self.config, self._lengths = config, lengths
        most = 3 * config.stripe_words + config.channels * config.stripe_words
        self._has_long = self._long(1) * config.word_bytes <= MOST_BYTES
        size = 3 * max(most, self._long(1) if self._has_long else 0)
        size = max(size, (MOST_STRIPES + MOST_STEP * (MOST_ROWS - 1)) * config.stripe_words)
        fmt = config.format
        high = 1 << min(63, config.word_bits)
        self._any = rng.integers(1, high, size, dtype=np.uint64).astype(fmt.dtype)
        self._near = self._any
        if config.is_plus:  # parts whose exponents are near each other
            parts = [random_words(size // 16 + 1, 1, fmt, rng) for _ in range(16)]
            self._near = np.concatenate(parts)[:size]
        self._draws = rng.random(size)

    def _long(self, factor):
        config = self.config
        return int(config.stripe_words * (config.auto_distance + 8) * factor)

    def count(self, random: Random) -> int:
        """Number of words of a tensor."""
        config = self.config
        stripe, lap = config.stripe_words, config.channels * config.stripe_words
        if self._lengths == "tiny":
            return random.choice((0, 1, 2, random.randrange(4 * config.lanes + 1)))
        if self._lengths == "stripes":
            return max(0, random.randrange(4) * stripe + random.choice((0, 0, -1, 1)))
        kind = random.random()
        if self._lengths == "long" and self._has_long and kind < 0.15:
            return random.randrange(self._long(0.8), self._long(1.0))
        if kind < _LONG and self._has_long:
            return random.randrange(self._long(0.8), self._long(1.0))
        if kind < 0.35:
            return random.randrange(4 * config.lanes + 1)
        if kind < 0.5:
            near = (0, 1, config.lanes, stripe - 1, stripe, stripe + 1, lap)
            return random.choice(near) + (random.random() < 0.25) * stripe
        if kind < 0.85:
            return random.randrange(1, stripe + 1)
        if kind < 0.97:
            return random.randrange(1, 3 * stripe)
        return random.randrange(1, 3 * stripe + lap)

    def draw(self, random: Random, count: int | None = None) -> np.ndarray:
        """A tensor, of a number of words or of any number."""
        count = self.count(random) if count is None else count
        size = self._any.size - count + 1
        source = self._near if random.random() < 0.7 else self._any
        at = random.randrange(size)
        words = source[at : at + count]
        density = random.choice(_DENSITIES)
        if density == 1:
            return words.copy()
        at = random.randrange(size)
        if random.random() < 0.3:  # stripes that are dense, and stripes that are empty
            stripe = self.config.stripe_words
            draws = np.repeat(self._draws[at : at + -(-count // stripe)], stripe)[:count]
        else:
            draws = self._draws[at : at + count]
        return np.where(draws < density, words, 0).astype(words.dtype)
