"""Fixtures of the co-simulation tests: configurations, and one way to run and judge."""

import shutil

import pytest
from sized import sized

from cdma.hdl.zvc.config import NAMED, Config
from cdma.sim import cosim_all

#: 4x8b8 and 16x16b32 look masks up, where all others of several beats a block count them.
_QUICK = [NAMED["8x32"], Config.of(4, 8, 8), Config.parse("8x32-asic")]
_SLOW = [
    *(Config.of(2, 8, 32), Config.of(4, 16)),
    *(config for config in NAMED.values() if config.name != "8x32"),
    *(Config.of(16, 16, 32), Config.of(8, 32, 96)),
    *map(Config.parse, ("2x8b32-asic", "4x8b8-asic", "16x16-asic", "32x8-asic", "32x32-asic")),
    *(Config.of(2, 32), Config.of(64, 8), Config.of(4, 64), Config.of(16, 32)),
]


@pytest.fixture(params=sized(_QUICK, _SLOW))
def config(request):
    """Every configuration that a unit is built in."""
    return request.param


@pytest.fixture(params=sized(_QUICK[:1], [*_QUICK[1:], *_SLOW]))
def some_config(request):
    """Fewer configurations, for what depends less on the size."""
    return request.param


@pytest.fixture(scope="session")
def icarus():
    """Name of the four-state simulator; skips where it is not installed."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog (iverilog) is not installed")
    return "icarus"


@pytest.fixture
def verify():
    """Function that runs scenarios and fails on the first that is not as promised."""

    def run(unit, scenarios, config, **options):
        results = cosim_all(unit, scenarios, config, **options)
        problems = [result.problem for result in results if result.problem]
        assert not problems, f"{len(problems)} of {len(results)} scenarios: {problems[0]}"
        assert len(results) == len(scenarios)
        return results

    return run
