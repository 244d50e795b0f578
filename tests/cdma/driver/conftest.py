"""Engines in software, with a driver each."""

import ctypes
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma import designs
from cdma.driver import Driver, Memory, RegisterError, SoftwareDevice, c
from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.sim.engine.engine import DEVICE, HOST, Buffer, Engine
from cdma.sim.engine.memory import Memory as Timing
from cdma.toolchain import cc

#: The engine of the quick tests of `tests/sim/engine`, so that it is built once.
SMALL = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60)


class Hardware:
    """The compiled engine as an accessor, with its two memories."""

    def __init__(self, config=SMALL):
        self.config = config
        near = Timing(latency=30), Timing(latency=50)
        self.engine = Engine(config, designs.engine(config), *near, seed=3)
        self.host, self.memory = Memory(1 << 19, 0x8000_0000), Memory(1 << 19, 0x1000_0000)
        self.engine.add(Buffer(HOST, self.host.base, self.host.data))
        self.engine.add(Buffer(DEVICE, self.memory.base, self.memory.data))

    def read(self, address):
        access = self.engine.access(address)
        if access.response:
            raise RegisterError(f"{address:#x}")
        return access.data

    def write(self, address, value):
        if self.engine.access(address, value).response:
            raise RegisterError(f"{address:#x}")

    def wait(self, timeout):
        """Until the interrupt, or for some cycles."""
        del timeout
        return self.engine.run(5000, irq=True)


@pytest.fixture(scope="session")
def verilog_engine():
    """The generated Verilog, compiled, as an accessor."""
    found = Hardware()
    yield found
    found.engine.close()


@pytest.fixture
def build():
    """Make a device and its driver."""

    def make(channels=4, device=None, config=None, **options):
        config = config or EngineConfig(channels=channels)
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
