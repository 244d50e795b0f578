"""Engines in software, with a driver each."""

import numpy as np
import pytest

from cdma.driver import Driver, Memory, SoftwareDevice
from cdma.engine_config import EngineConfig


@pytest.fixture
def build():
    """Make a device and its driver."""

    def make(channels=4, device=None, **options):
        config = EngineConfig(channels=channels)
        engine = SoftwareDevice(config, Memory(1 << 23, 0x8000_0000), Memory(1 << 21, 0x10_0000))
        if device is not None:
            engine = device(engine)
        return engine, Driver(engine, engine.host, engine.memory, **options)

    return make


@pytest.fixture
def tensor():
    """Half zeros, 40 stripes and a bit."""
    rng = np.random.default_rng(3)
    array = rng.standard_normal((41, 1000)).astype("f4")
    array[array < 0] = 0
    return array
