"""The units take no more cycles than recorded, and pass the recorded scenarios."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sized import corners

from cdma.hdl.axi.stream import UNITS
from cdma.hdl.zvc.config import Config
from cdma.sim import SimulationError
from cdma.sim.units import BENCHES
from cdma.verify import cycles

FILE = Path(__file__).parents[2] / "docs" / "measurements" / "cycles.json"
RECORD = json.loads(FILE.read_text())


def test_every_unit_is_on_record():
    assert list(RECORD) == [config.name for config in cycles.CONFIGS]
    assert all(list(units) == list(UNITS) for units in RECORD.values())


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("config", corners(cycles.CONFIGS, ("8x32",)))
def test_no_scenario_takes_more_cycles_than_are_on_record(unit, config):
    """After an intended change, run
    ``python -m cdma.verify.cycles docs/measurements/cycles.json``."""
    measured, record = cycles.measure(unit, config), RECORD[config.name][unit]
    assert measured.keys() == record.keys()
    slower = {name: (found, record[name]) for name, found in measured.items()
              if found > record[name]}  # fmt: skip
    assert not slower


def test_a_unit_that_does_something_wrong_is_refused(monkeypatch):
    class Other(BENCHES["compressor"]):
        """Sends packets that differ from the expected ones."""

        def stimulus(self, scenario):
            return super().stimulus(replace(scenario, packets=scenario.packets[::-1]))

    monkeypatch.setitem(cycles.BENCHES, "compressor", Other)
    with pytest.raises(SimulationError, match=r"^packets: "):
        cycles.measure("compressor", Config.of(2, 8, 32))
