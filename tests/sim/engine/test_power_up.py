"""Registers and memories power up at any value: after the reset none of it reaches a result."""

import pytest

from cdma import designs
from cdma.sim.engine.engine import Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.verify.mutation import engine_trials
from cdma.verify.mutation.engine import small_engine


def observed(play, seed):
    """What a trial observes of an engine that powers up with a seed."""
    config = small_engine()
    memory = Memory(latency=4)
    engine = Engine(config, designs.engine(config), memory, memory, seed)
    return play(EngineModel(config, log2=0, engine=engine))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_few_jobs", "_registers", "_rings"])
def test_nothing_of_power_up_reaches_a_result(name):
    play = getattr(engine_trials, name)
    first = observed(play, 0)
    assert len(first) > 5
    for seed in range(1, 6):
        assert observed(play, seed) == first
