"""Recorded cycle counts of the units, so that a change that costs cycles is detected.

For each timed scenario, ``docs/measurements/cycles.json`` has the sum of the completion cycles of
all packets at all ports. After an intended change, ``python -m cdma.verify.cycles FILE`` updates
the file.
"""

import argparse
import itertools
import json

from cdma.errors import SimulationError
from cdma.files import write_text
from cdma.hdl.axi.stream import UNITS
from cdma.hdl.codecs import UnitConfig, config_named
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit, Played
from cdma.sim.simulate import design_text
from cdma.sim.units import BENCHES
from cdma.verify.mutation.trials import first_trials, trials

#: The sizes used for mutants of each codec, and the size used in the documents.
CONFIGS = tuple(map(config_named, ("4x8b16", "8x32", "zvcplus-fp32")))


def cycles_of(played: Played) -> int:
    """Sum of the cycles of the last beat of each packet, over all ports."""
    return sum(int(port.packets["last_cycle"].sum()) for port in played.ports.values())


def measure(unit: str, config: UnitConfig) -> dict[str, int]:
    """Cycles of each timed scenario, by name.

    Raises
    ------
    UserError
        As :class:`cdma.sim.compiled.unit.ModelUnit`.
    SimulationError
        When the unit fails a scenario.
    """
    model = ModelUnit(unit, config, design_text(unit, config, None))
    bench = BENCHES[unit](config)
    record = {}
    for trial in itertools.chain(first_trials(unit, config), trials(unit, config)):
        if trial.is_timed:
            stimulus = bench.stimulus(trial.scenario)
            played = model.play(**play.arguments(stimulus))
            problem = (
                played.failure
                or bench.result(trial.scenario, play.report(stimulus, played)).problem
            )
            if problem:
                raise SimulationError(f"{trial.name}: {problem}")
            record[trial.name] = cycles_of(played)
    return record


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m cdma.verify.cycles", description="Write the record."
    )
    parser.add_argument("file", help="such as docs/measurements/cycles.json")
    file = parser.parse_args().file
    record = {config.name: {unit: measure(unit, config) for unit in UNITS} for config in CONFIGS}
    write_text(file, f"{json.dumps(record, indent=2)}\n")
