"""Engines that tests share: each is generated and compiled once."""

from functools import partial

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel

#: The engine of the quick tests: small, so that it is built soon.
SMALL = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60)


#: The same tests with the second codec.
PLUS = EngineConfig(channels=1, stripe_bytes=1024, link_bytes=16, latency=60, codec="zvcplus")


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(SMALL, id="zvc"),
        pytest.param(PLUS, id="zvcplus", marks=pytest.mark.slow),
    ],
)
def small(request):
    """Size of the engine of the quick tests, and of that with the second codec."""
    return request.param


@pytest.fixture(scope="session")
def small_zvc():
    """Size of the engine of the quick tests, with the first codec only."""
    return SMALL


@pytest.fixture(scope="session")
def model_with():
    """Function that gives an engine of a size; ``host`` and ``device`` default to near memories."""

    def make(config, device=None, host=None, seed=1, **options) -> EngineModel:
        device, host = device or Memory(latency=30), host or Memory(latency=50)
        return EngineModel(config, device, host, seed, **options)

    return make


@pytest.fixture(scope="session")
def model_of(small, model_with):
    """Function that gives an engine of the tests' size, as ``model_with``."""
    return partial(model_with, small)


@pytest.fixture(scope="session")
def tensor():
    """Function that gives words, so many bytes of them, by density or ``halves``."""

    def make(config, size, density=0.5, seed=0):
        rng = np.random.default_rng([seed, size])
        dtype = config.format.dtype
        count = size // config.word_bytes
        words = rng.integers(1, 1 << min(config.word_bits, 31), count).astype(dtype)
        if density == "halves":
            words[count // 2 :] = 0
        else:
            words[rng.random(count) >= density] = 0
        return words

    return make


@pytest.fixture(scope="session")
def offload():
    """Function that offloads and compares with the golden engine."""

    def run(model, array, raw="never", limit=None, crc=False, **fields):
        job = model.offload(array, raw, limit, crc, counters=False, **fields)
        expected = golden.offload(array, model.config, raw, limit, crc)
        if not fields.get("index", True):
            expected = golden.Offload(**{**vars(expected), "index": expected.index[:0]})
        assert offload_difference(job, expected, model.config) == ""
        return job

    return run


@pytest.fixture(scope="session")
def prefetch():
    """Function that prefetches a job and compares with the golden engine."""

    def run(model, job, **fields):
        back = model.prefetch(job, counters=False, **fields)
        count = job.descriptor.raw_bytes // model.config.word_bytes
        expected = golden.salvage_stripes(
            job.stream, job.index, count, model.config, crc=fields.get("crc", False)
        )
        is_verify = fields.get("op") == 6
        assert prefetch_difference(back, expected, model.config, is_verify=is_verify) == ""
        return back

    return run
