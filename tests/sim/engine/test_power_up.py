"""Registers and memories power up at any value: after the reset none of it reaches a result."""

import re

import pytest

from cdma import designs
from cdma.errors import SimulationError
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.engine import Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.verify.mutation.engine import jobs
from cdma.verify.mutation.engine.campaign import small_engine


def observed(play, seed, verilog=None):
    """What a trial observes of an engine whose registers and memories powered up by a seed."""
    config = small_engine()
    memory = Memory(latency=4)
    verilog = verilog or designs.engine(config)
    engine = Engine(config, verilog, memory, memory, power_up=seed)
    return play(EngineModel(config, log2=0, engine=engine))


def assert_same(name, verilog=None):
    """A trial observes the same after each power-up as the generated engine after the first."""
    play = getattr(jobs, name)
    first = observed(play, 0)
    assert len(first) > 5
    for seed in range(1, 6):
        assert observed(play, seed, verilog) == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few_jobs", "registers", "rings"])
def test_nothing_of_power_up_reaches_a_result(name):
    assert_same(name)


@pytest.mark.slow
def test_a_register_that_lost_its_reset_is_found():
    text = designs.engine(small_engine())
    at = text.index("module cdma_engine_front_rings_starter(")
    end = text.index("endmodule", at)
    # Counts of descriptors: other registers of the module follow their inputs after the reset.
    spoiled = text[:at] + re.sub(r"rst \? 16'h0+ : ", "", text[at:end]) + text[end:]
    assert spoiled != text
    with pytest.raises((AssertionError, SimulationError, Violation)):
        assert_same("few_jobs", spoiled)
