"""What the tests of the golden engine share: a second engine, small sizes, tensors."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.engine_config import EngineConfig

#: Sizes with small stripes, so that a slow second engine covers many of them.
SMALL = {
    "4x8x32": EngineConfig(stripe_bytes=1024),
    "2x2x32": EngineConfig(channels=2, lanes=2, stripe_bytes=1024, link_bytes=8),
    "8x8x8": EngineConfig(channels=8, lanes=8, word_bits=8, stripe_bytes=1024),
    "1x8x16": EngineConfig(channels=1, lanes=8, word_bits=16, stripe_bytes=2048),
    "1x2x64": EngineConfig(channels=1, lanes=2, word_bits=64, stripe_bytes=1024),
}


@pytest.fixture(scope="session")
def simple():
    """The engine written down a second time."""
    path = Path(__file__).with_name("simple.py")
    spec = importlib.util.spec_from_file_location("engine_simple", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=SMALL)
def small(request) -> EngineConfig:
    """Each of the small sizes."""
    return SMALL[request.param]


@pytest.fixture(scope="session")
def tensor():
    """Make words whose density changes from stripe to stripe."""

    def make(config, count, seed, densities=(0.0, 0.5, 1.0)):
        rng = np.random.default_rng(seed)
        words = rng.integers(1, 1 << min(config.word_bits, 63), count, dtype=np.uint64)
        stripe = np.arange(count) // config.stripe_words
        share = rng.choice(densities, stripe[-1] + 1 if count else 0)
        words[rng.random(count) >= share[stripe]] = 0
        return words.astype(config.format.dtype)

    return make
