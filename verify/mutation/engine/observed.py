"""Recorded observations of the engine's trials, so that a change of any of them is noticed.

``docs/measurements/engine_trials.json`` has a checksum of what each trial observes of the engine
that is mutated: completions, registers, counters, bytes, and the cycle of every burst at every
port. A fault that only changes one of them breaks no rule, but it differs from this record. After
an intended change of the hardware or of a trial, ``python -m cdma.verify.mutation.engine.observed
FILE`` updates the file.
"""

import argparse
import json
import zlib
from collections.abc import Iterator

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.files import write_text
from cdma.verify.mutation.engine.campaign import small_engine
from cdma.verify.mutation.engine.trials import Trial, trials


def checksum(trial: Trial) -> str:
    """Checksum of what a trial observes.

    Raises
    ------
    Violation, SimulationError
        When a check of the trial fails.
    """
    return f"{zlib.crc32(repr(trial.play()).encode()):08x}"


def checksums(config: EngineConfig, verilog: str | None = None) -> Iterator[tuple[str, str]]:
    """Name and checksum of each trial, of the generated engine or of another design."""
    for trial in trials(config, designs.engine(config) if verilog is None else verilog):
        yield trial.name, checksum(trial)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m cdma.verify.mutation.engine.observed", description="Write the record."
    )
    parser.add_argument("file", help="such as docs/measurements/engine_trials.json")
    file = parser.parse_args().file
    write_text(file, f"{json.dumps(dict(checksums(small_engine())), indent=2)}\n")
