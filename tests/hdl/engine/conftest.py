"""Benches for the engine's components on Amaranth's own simulator."""

import numpy as np
import pytest
from amaranth.lib.wiring import In

from cdma.engine_config import EngineConfig

JOB = {
    "op": 1,
    "index": 0,
    "crc": 0,
    "raw": 0,
    "rows": 1,
    "stripes": 0,
    "device": 0,
    "host": 0,
    "index_address": 0,
    "row_bytes": 0,
    "limit": 1 << 40,
    "pitch": 0,
    "attr": {"user": 0, "prot": 0, "cache": 2},
}


@pytest.fixture(scope="session")
def small():
    """Function that gives a small engine's configuration."""

    def make(**options) -> EngineConfig:
        sizes = {"channels": 1, "lanes": 2, "stripe_bytes": 1024, "stage_bytes": 2048}
        return EngineConfig(**{**sizes, "latency": 16, "link_fifo_bytes": 2048, **options})

    return make


@pytest.fixture(scope="session")
def job():
    """Function that gives the fields of a job, with defaults."""

    def make(**fields) -> dict:
        return {**JOB, **fields}

    return make


@pytest.fixture(scope="session")
def begin():
    """Function that gives a driver of ports that are no streams.

    In the first cycle it sets ``values`` and raises ``start``, if there is such an input; then it
    lets ``start`` fall and calls ``then(ctx, cycle, passed)`` in each cycle.
    """

    def make(dut, then=lambda ctx, cycle, passed: None, **values):
        cycle = -1
        members = dut.signature.members
        has_start = "start" in members and members["start"].flow == In

        def each(ctx, passed):
            nonlocal cycle
            cycle += 1
            if cycle == 0:
                for name, value in values.items():
                    ctx.set(getattr(dut, name), value)
            if has_start:
                ctx.set(dut.start, cycle == 0)
            then(ctx, cycle, passed)

        return each

    return make


@pytest.fixture(scope="session")
def rows_of():
    """Function that gives the rows of one stripe's words."""

    def rows(words, config) -> list[dict]:
        words = [int(word) for word in words]
        found = []
        for first in range(0, len(words), config.lanes):
            part = words[first : first + config.lanes]
            found.append(
                {
                    "words": part + [0] * (config.lanes - len(part)),
                    "count": len(part),
                    "last": first + config.lanes >= len(words),
                }
            )
        return found

    return rows


@pytest.fixture(scope="session")
def words_of():
    """Function that gives the words of rows, beats or groups that have a ``count``."""

    def words(items: list[dict]) -> list[int]:
        return [word for item in items for word in item["words"][: item["count"]]]

    return words


@pytest.fixture
def noise():
    """Function that gives random words, so dense."""

    def make(count, density=0.5, bits=32, seed=1):
        rng = np.random.default_rng([seed, count])
        words = rng.integers(1, 1 << min(bits, 62), count)
        return np.where(rng.random(count) < density, words, 0).astype(f"<u{bits // 8}")

    return make
