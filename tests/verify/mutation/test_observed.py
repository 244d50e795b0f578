"""What the units do in the trials of their mutants is on record."""

import json
from itertools import islice
from pathlib import Path

import pytest

from cdma.hdl.axi.stream import UNITS
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.simulate import design_text
from cdma.verify.mutation.observed import checksum, observed
from cdma.verify.mutation.stages import IN_LANES
from cdma.verify.mutation.trials import first_trials

RECORD = Path(__file__).parents[3] / "docs" / "measurements" / "zvcplus_trials.json"
SMALL = Config.of(2, 8, 8)


def test_each_stage_of_each_unit_is_on_record():
    record = json.loads(RECORD.read_text())
    assert list(record) == list(UNITS)
    assert all(list(stages) == list(IN_LANES) for stages in record.values())


@pytest.mark.slow
@pytest.mark.parametrize("stage", IN_LANES)
@pytest.mark.parametrize("unit", UNITS)
def test_handshakes_are_those_on_record(unit, stage):
    """After an intended change: ``python -m cdma.verify.mutation.observed FILE``."""
    assert observed(unit, stage) == json.loads(RECORD.read_text())[unit][stage]


def test_digests_are_of_the_stimulus():
    model = ModelUnit("compressor", SMALL, design_text("compressor", SMALL, None))
    trials = list(islice(first_trials("compressor", SMALL), 3))
    assert checksum(model, trials) == checksum(model, trials)
    assert len({checksum(model, [trial]) for trial in trials}) == 3
