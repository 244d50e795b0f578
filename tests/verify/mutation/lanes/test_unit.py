"""A unit with lanes: a mutant is killed just when one of its handshakes differs."""

import pytest

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import Config as PlusConfig
from cdma.sim import SimulationError
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.stimulus import fed, packets
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import mutants
from cdma.verify.mutation.lanes.unit import UnitLanes
from cdma.verify.mutation.observed import checksum
from cdma.verify.mutation.trials import Trial, first_trials

SMALL = Config.of(2, 8, 8)
COUNT = 30


def chosen(unit, config):
    """Trials with stalls, malformed streams, and a reset."""
    found = {trial.name: trial for trial in first_trials(unit, config)}
    few = found["few packets"].scenario.packets
    yield found["stalls and junk"]
    yield Trial("reset", Scenario(few, reset_at=23, before=Scenario(few[3:], "bernoulli:0.4", 3)))
    if unit == "decompressor":
        yield found["malformed, stalls"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
@pytest.mark.parametrize("config", [SMALL, PlusConfig("bf16")])
def test_verdicts_are_those_of_the_handshakes_under_verilator(unit, config):
    drawn = mutants.draw(unit, config, COUNT, 3, cache_folder())
    lanes = UnitLanes(drawn, drawn.mutants, config)
    woven = mutants.weave(drawn, drawn.mutants, cache_folder())
    model = ModelUnit(unit, config, woven.verilog, has_mutants=True)
    for trial in chosen(unit, config):
        right = checksum(model, [trial])
        differs = [m for m in drawn.mutants if checksum(model, [trial], m.number) != right]
        assert list(lanes.play(trial, drawn.mutants)) == differs
        assert 5 < len(differs) < COUNT
        assert checksum(lanes.model, [trial]) == right


def test_a_trial_that_the_unit_fails_is_refused():
    drawn = mutants.draw("compressor", SMALL, 10, 2, cache_folder())
    lanes = UnitLanes(drawn, drawn.mutants, SMALL)
    trial = Trial(
        "odd", Scenario(fed("compressor", packets(SMALL)[:3], SMALL)), check=lambda played: "even"
    )
    with pytest.raises(SimulationError, match=r"^odd: the unit without a fault: even$"):
        lanes.play(trial, drawn.mutants)
