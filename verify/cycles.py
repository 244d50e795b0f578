"""Recorded cycle counts of the units, so that a change that costs cycles is detected.

``docs/measurements/cycles.json`` has, for each timed scenario, the sum of the cycles in which
packets were finished, over all packets and ports. ``python -m cdma.verify.cycles FILE`` writes it
again after an intended change.
"""

import argparse
import itertools
import json

from cdma.errors import SimulationError
from cdma.files import write_text
from cdma.hdl.axi.stream import UNITS
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit, Played
from cdma.sim.simulate import design_text
from cdma.sim.units import BENCHES
from cdma.verify.mutation.trials import first_trials, trials

#: The size that mutants are made of, and the documents' size.
CONFIGS = (Config.of(4, 8, 16), Config.of(8, 32))


def cycles_of(played: Played) -> int:
    """Sum of the cycles in which each packet's last beat crossed each port."""
    return sum(int(port.packets["last_cycle"].sum()) for port in played.ports.values())


def measure(unit: str, config: Config) -> dict[str, int]:
    """Cycles of each timed scenario, by its name.

    Raises
    ------
    UserError
        As :class:`cdma.sim.compiled.unit.ModelUnit`.
    SimulationError
        When the unit does something wrong in one of them.
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
