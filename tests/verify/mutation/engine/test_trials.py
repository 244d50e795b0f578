"""The trials of the engine's mutants: what they observe is on record."""

import json
from pathlib import Path

import pytest

from cdma import designs
from cdma.verify.mutation.engine.campaign import small_engine
from cdma.verify.mutation.engine.observed import checksum
from cdma.verify.mutation.engine.trials import trials

RECORD = Path(__file__).parents[4] / "docs" / "measurements" / "engine_trials.json"


def test_trials_have_names_of_their_own():
    names = [trial.name for trial in trials(small_engine(), "")]
    assert len(set(names)) == len(names) > 20


def test_each_trial_is_on_record():
    assert list(json.loads(RECORD.read_text())) == [
        each.name for each in trials(small_engine(), "")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(json.loads(RECORD.read_text()))))
def test_observations_are_those_on_record(number):
    trial = list(trials(small_engine(), designs.engine(small_engine())))[number]
    assert checksum(trial) == json.loads(RECORD.read_text())[trial.name]
