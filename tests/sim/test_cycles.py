"""The units take just the cycles that are on record, and do nothing wrong in them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cdma.hdl.axi import UNITS
from cdma.hdl.config import Config
from cdma.sim import SimulationError, cycles
from cdma.sim.units import BENCHES

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


def test_a_unit_that_does_something_wrong_is_refused(monkeypatch):
    class Other(BENCHES["compressor"]):
        """Feeds other packets than are expected."""

        def stimulus(self, scenario):
            return super().stimulus(replace(scenario, packets=scenario.packets[::-1]))

    monkeypatch.setitem(cycles.BENCHES, "compressor", Other)
    with pytest.raises(SimulationError, match=r"^packets: "):
        cycles.measure("compressor", Config.of(2, 8))
