"""Registers and memories power up at any value: after the reset none of it reaches a result, and no
output is X."""

import re
from pathlib import Path

import numpy as np
import pytest

from cdma import designs
from cdma.errors import SimulationError
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build, pins
from cdma.sim.engine.engine import Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.sim.power_up import randomised
from cdma.toolchain import simulators
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


@pytest.fixture
def play(monkeypatch):
    """Function that plays resets and a round trip in Icarus Verilog."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "cocotb"))

    def run(verilog, resets=()):
        memory, rng = Memory(latency=4), np.random.default_rng(5)
        words = (rng.integers(1, 1 << 31, 600) * (rng.random(600) < 0.5)).astype(np.uint32)
        names = pins.managers(pins.declared(verilog, build.TOP))
        job = {
            "config": small_engine(),
            "device": memory,
            "host": memory,
            "ports": names,
            "seed": 2,
        }
        job |= {"array": words, "resets": list(resets)}
        folder = simulators.build(verilog, build.TOP, "icarus")
        (trip,) = simulators.run(folder, build.TOP, [job], "reset_bench", "icarus")
        return trip

    return run


@pytest.mark.slow
@pytest.mark.parametrize("contents", ["X", "random"])
def test_no_output_is_x_after_a_reset(play, contents):
    """From power-up, and with resets of one cycle and of more in the middle of jobs."""
    verilog = designs.engine(small_engine())
    if contents == "random":
        verilog = randomised(verilog, seed=1)
    waits = np.random.default_rng(9).integers(5, 400, 6)
    trip = play(verilog, [(int(wait), 1 + number % 3) for number, wait in enumerate(waits)])
    assert trip.problem == ""
    assert trip.prefetch.completion.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("module", ["link_order", "front_rings_counts", "data_offload_sequencer"])
def test_x_at_an_output_is_found(play, module):
    """Registers that lost their reset stay X in Icarus Verilog."""
    with pytest.raises((Violation, SimulationError, AssertionError)):
        assert not play(without_reset(designs.engine(small_engine()), module)).problem


def without_reset(text, module):
    """Verilog in which the registers of a module that are zero in reset have none."""
    at = text.index(f"module cdma_engine_{module}(")
    end = text.index("endmodule", at)
    spoiled, count = re.subn(r"rst \? \d+'h0+ : ", "", text[at:end])
    assert count
    return text[:at] + spoiled + text[end:]
