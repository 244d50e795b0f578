"""What a unit does in the trials that its mutants play in lanes, as digests.

``docs/measurements/zvcplus_trials.json`` has a digest of all handshakes for each stage of trials.
So a fault that moves a handshake, or changes its data, is detected by the regression. After an
intended change of the hardware or of a trial, ``python -m cdma.verify.mutation.observed FILE``
updates the file.
"""

import argparse
import json
import zlib
from collections.abc import Iterable

import numpy as np

from cdma.files import write_text
from cdma.hdl.axi.stream import UNITS
from cdma.hdl.codecs import UnitConfig, config_named
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.simulate import design_text
from cdma.sim.units import BENCHES
from cdma.verify.mutation.lanes.unit import known_bytes
from cdma.verify.mutation.stages import IN_LANES
from cdma.verify.mutation.trials import Trial

#: The unit whose trials are on record.
CONFIG = config_named("zvcplus-fp32")


def observed(unit: str, stage: str, config: UnitConfig = CONFIG) -> str:
    """Digest of what a unit does in the trials of a stage.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    stage : str
        A key of :data:`cdma.verify.mutation.stages.IN_LANES`.
    config : UnitConfig
        Size of the unit.

    Raises
    ------
    UserError, SimulationError
        As :class:`cdma.sim.compiled.unit.ModelUnit`.
    """
    model = ModelUnit(unit, config, design_text(unit, config, None))
    return checksum(model, IN_LANES[stage](unit, config))


def checksum(model: ModelUnit, trials: Iterable[Trial], mutant: int = 0) -> str:
    """Digest of all handshakes of trials: port, cycle, and data without bytes that TKEEP leaves out
    or that may be anything. Of a trial with a reset, those before the reset count too.

    Parameters
    ----------
    model : ModelUnit
    trials : iterable of Trial
    mutant : int
        Number of the fault in a model with mutants.
    """
    found = 0
    for trial in trials:
        bench = BENCHES[model.unit](model.config)
        arguments = play.arguments(bench.stimulus(trial.scenario))
        before, reset_at = arguments.pop("before"), arguments.pop("reset_at")
        runs = [arguments | {"cycles": trial.cycles}]
        if reset_at is not None:
            runs.insert(0, arguments | {"fed": before or arguments["fed"], "cycles": reset_at})
        for run, known in zip(runs, known_bytes(bench, trial.scenario), strict=True):
            trace = model.play(**run, mutant=mutant, is_traced=True).trace
            for port in trace.dtype.names:
                sizes = known if port == "m_axis" else None
                found = zlib.crc32(port.encode() + _handshakes(trace[port], sizes), found)
    return f"{found:08x}"


def _handshakes(pins, sizes):
    """Bytes of all handshakes of a port, without those behind the known bytes of each packet."""
    cycles = np.flatnonzero(pins["valid"] & pins["ready"])
    beats = pins[cycles]
    data, frame = beats["data"], b""
    if "keep" in beats.dtype.names:
        kept = np.unpackbits(beats["keep"], axis=1, bitorder="little")[:, : data.shape[1]]
        data = data * kept
        frame = beats["last"].tobytes() + kept.tobytes()
        if sizes is not None:
            data = data * _known(beats["last"], data.shape[1], sizes)
    return cycles.tobytes() + frame + data.tobytes()


def _known(last, beat_bytes, sizes):
    """Which bytes of beats are known, shape (beats, bytes)."""
    ends = np.concatenate([[0], np.flatnonzero(last) + 1, [len(last)]])
    beats = np.arange(len(last))
    packets = np.searchsorted(ends, beats, side="right") - 1
    at = (beats - ends[packets])[:, None] * beat_bytes + np.arange(beat_bytes)
    # A mutant may give more packets than there are.
    sizes = np.array([*sizes, 0])[np.minimum(packets, len(sizes))]
    return at < sizes[:, None]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m cdma.verify.mutation.observed", description="Write the record."
    )
    parser.add_argument("file", help="such as docs/measurements/zvcplus_trials.json")
    file = parser.parse_args().file
    record = {unit: {stage: observed(unit, stage) for stage in IN_LANES} for unit in UNITS}
    write_text(file, f"{json.dumps(record, indent=2)}\n")
