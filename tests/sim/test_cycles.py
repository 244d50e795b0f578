"""The units take just the cycles that are on record."""

import json
from pathlib import Path

import pytest

from cdma.hdl.axi import UNITS
from cdma.sim import cycles

FILE = Path(__file__).parents[2] / "docs" / "measurements" / "cycles.json"
RECORD = json.loads(FILE.read_text())


def test_every_unit_is_on_record():
    assert list(RECORD) == [config.name for config in cycles.CONFIGS]
    assert all(list(units) == list(UNITS) for units in RECORD.values())


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("config", cycles.CONFIGS, ids=lambda config: config.name)
def test_cycles_are_those_on_record(unit, config):
    """``python -m cdma.sim.cycles docs/measurements/cycles.json`` when others are meant."""
    assert cycles.measure(unit, config) == RECORD[config.name][unit]
