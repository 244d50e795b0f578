"""Engines in software, with a driver each."""

import ctypes
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.driver import Driver, Memory, SoftwareDevice, c
from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.toolchain import cc


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


@pytest.fixture(scope="session")
def c_bench():
    """Module of the bench of the driver in C."""
    path = Path(__file__).parent / "c" / "c_bench.py"
    spec = importlib.util.spec_from_file_location("c_bench", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The driver in C, compiled without a warning."""
    try:
        cc.c_compiler()
    except UserError:
        pytest.skip("no C compiler on this machine")
    path = tmp_path_factory.mktemp("c") / "libcdma.so"
    cc.compile_c(c.SOURCES, path, shared=True)
    loaded = ctypes.CDLL(str(path))
    loaded.cdma_bound.restype = loaded.cdma_stripes.restype = ctypes.c_uint64
    return loaded
