"""Units that omit other words than zero: a constant, a port, and -0.0 beside 0.0."""

import numpy as np
import pytest
from sized import sized

from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, stimulus

SMALL = [Config.parse("2x8b8-z80-zport")]
LARGE = [
    "2x8b8-fold",
    "2x8b8-z80",
    "8x32-z7f800000",
    "8x32-zffffffff-zport",
    "16x16-fold",
    "32x8-z1-zport",
]
LARGE += ["4x8b8-ones-z80", "2x8b32-ones-z1-zport", "8x32-fold"]
LARGE += ["4x8b16-z80-zport-asic", "8x32-z7f800000-asic", "16x16-z1-zport-asic", "8x32-fold-asic"]
LARGE += ["4x8b16-ones-z80-zport-asic"]


@pytest.fixture(params=sized(SMALL, [Config.parse(name) for name in LARGE]))
def config(request):
    return request.param


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_matches_golden_model(verify, unit, config):
    packets = stimulus.fed(unit, stimulus.packets(config, 1), config)
    stalls = ("never", "bernoulli:0.4", {"sink": "bursts:4,9"})
    scenarios = [Scenario(packets, stall, 1, str(stall), is_dirty=True) for stall in stalls]
    results = verify(unit, scenarios, config)
    assert results[0].is_fast_enough


@pytest.mark.slow
def test_malformed_streams(verify, config):
    packets = stimulus.malformed(config, np.random.default_rng(3))
    verify("decompressor", [Scenario(packets), Scenario(packets, "bernoulli:0.3", 5)], config)


@pytest.mark.slow
def test_round_trip(verify, config):
    """Of units that fold, -0.0 comes back as 0.0."""
    packets = stimulus.fed("compressor", stimulus.packets(config, 2), config)
    (result,) = verify("roundtrip", [Scenario(packets, "bernoulli:0.3", 4)], config)
    if config.format.fold_negative_zero:
        minus = 1 << config.format.word_bits - 1
        assert any((words == minus).any() for words in packets)
        words = [np.frombuffer(each.output, config.format.dtype) for each in result.packets]
        assert not any((each == minus).any() for each in words)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_port_under_cocotb(verify, unit, simulator, icarus):
    config = Config.parse("8x32-z3f800000-zport")
    packets = stimulus.fed(unit, stimulus.packets(config, 3)[:12], config)
    verify(unit, [Scenario(packets, "bernoulli:0.3", 3)], config, simulator=simulator)
