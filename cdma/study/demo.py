"""``cdma demo``: simulate units and engine on the tensors of folders. A row for each simulation."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import files_below
from cdma.golden.zvc.words import to_words
from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, cosim_all
from cdma.sim.engine.cosim import Trip, round_trip
from cdma.sim.engine.memory import PROFILES
from cdma.sim.report import record
from cdma.sim.tensor import packet_for
from cdma.tables import counted
from cdma.tensors.load import load_tensor

#: Default bytes of a beat: 8 x 32, 16 x 16, 32 x 8 bits.
BEAT_BYTES = 32
#: Default for the engine. Its model is built in half the time of a 32-byte model.
ENGINE_BEAT_BYTES = 16
#: Columns of the table.
COLUMNS = {
    "tensor": "tensor",
    "unit": "unit",
    "config": "config",
    "words": "words",
    "density": "density",
    "bytes_in": "bytes in",
    "bytes_out": "bytes out",
    "ratio": "ratio",
    "cycles": "cycles",
    "bytes_per_cycle": "bytes/cycle",
    "verdict": "verdict",
}


def words_in(folders: Sequence[str]) -> dict[str, np.ndarray]:
    """Words of every ``.npy`` file of the folders, by its path without the suffix.

    With a single folder, the names do not include the folder.

    Raises
    ------
    UserError
        When a folder is missing or has no such file, or a file or folder cannot be read.
    """
    tensors = {}
    for folder in map(Path, folders):
        if folder.is_file():
            raise UserError(f"{folder}: is a file, expected a folder of .npy files")
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; `cdma capture -o {folder}` makes one")
        files = sorted(files_below(folder, [".npy"]))
        if not files:
            raise UserError(f"{folder}: holds no .npy file; `cdma capture -o {folder}` makes some")
        for file in files:
            name = file if len(folders) > 1 else file.relative_to(folder)
            tensors[str(name.with_suffix(""))] = to_words(load_tensor(str(file)))
    return tensors


def run(
    tensors: Mapping[str, np.ndarray], lanes: int | None, progress: Callable[[str], None]
) -> list[dict]:
    """Simulate compressor and decompressor on each tensor, all tensors of a size in one simulation.

    Parameters
    ----------
    tensors : mapping of str to ndarray
        Words by name, shape (words,).
    lanes : int or None
        Words in a beat. With ``None``, a beat has ``BEAT_BYTES``.
    progress : callable
        Called with a line when a simulation begins, and for each problem.

    Returns
    -------
    list of dict
        By name: :func:`cdma.sim.report.record`, ``tensor``, and ``verdict``, which is ``equal``,
        ``too slow`` or the first difference from the golden model.

    Raises
    ------
    UserError
        When a size is refused, or a tool is missing.
    SimulationError
        When the simulator fails.
    """
    by_config = {}
    for name, words in tensors.items():
        with refusals_as_user_errors():
            beat = BEAT_BYTES // words.itemsize if lanes is None else lanes
            config = Config.of(beat, words.itemsize * 8)
        by_config.setdefault(config, {})[name] = words
    rows = []
    for config, group in by_config.items():
        for unit in ("compressor", "decompressor"):
            progress(f"{unit} {config.name}: {counted(len(group), 'tensor')}")
            rows += _simulate(unit, config, group, progress)
    return sorted(rows, key=lambda row: row["tensor"])


def engine_for(
    tensors: Mapping[str, np.ndarray], channels: int, lanes: int | None
) -> tuple[str, EngineConfig]:
    """Name of the largest tensor, and the engine that :func:`run_engine` sends it through.

    Raises
    ------
    UserError
        When there is no engine of this size.
    """
    name = max(tensors, key=lambda each: tensors[each].nbytes)
    itemsize = tensors[name].itemsize
    beat = ENGINE_BEAT_BYTES // itemsize if lanes is None else lanes
    with refusals_as_user_errors():
        return name, EngineConfig(channels=channels, lanes=beat, word_bits=8 * itemsize)


def run_engine(
    tensors: Mapping[str, np.ndarray],
    channels: int,
    lanes: int | None,
    progress: Callable[[str], None],
) -> list[dict]:
    """Offload and prefetch the largest tensor with an engine: a row for each direction.

    The latency of the memories is 20 cycles. The cycles of a row are for the whole job: doorbell,
    descriptor, data, index, completion. ``channels`` is the number of the engine's channels. For
    the other arguments and the errors see :func:`run`.
    """
    name, config = engine_for(tensors, channels, lanes)
    words = tensors[name]
    progress(f"engine {config.name}: {name}, out to host memory and back")
    near = PROFILES["near"]
    trip = round_trip(words, config, near, near, progress=progress)
    if trip.problem:
        progress(f"cdma demo: {trip.problem}")
    return [_engine_row(name, words, config, trip, direction) for direction in ("out", "back")]


def _engine_row(name, words, config: EngineConfig, trip: Trip, direction: str) -> dict:
    job = trip.offload if direction == "out" else trip.prefetch
    stream = len(trip.stream)
    return {
        "tensor": name,
        "unit": f"engine {direction}",
        "config": config.name,
        "words": int(words.size),
        "density": int(np.count_nonzero(words)) / words.size if words.size else None,
        "bytes_in": words.nbytes if direction == "out" else stream,
        "bytes_out": stream if direction == "out" else words.nbytes,
        "ratio": words.nbytes / stream if stream else None,
        "cycles": job and job.cycles,
        "bytes_per_cycle": words.nbytes / job.cycles if job else None,
        "verdict": trip.problem or "equal",
    }


def _simulate(unit, config, tensors, progress):
    scenarios = [
        Scenario([packet_for(unit, words, config.format)], name=name)
        for name, words in tensors.items()
    ]
    results = cosim_all(unit, scenarios, config, progress=progress)
    rows = []
    for (name, words), result in zip(tensors.items(), results, strict=True):
        row = {"tensor": name, **record(result, words)}
        if result.problem:
            progress(f"cdma demo: {result.problem}")
        is_slow = result.is_fast_enough is False and row["comparison"] == "equal"
        row["verdict"] = "too slow" if is_slow else row["comparison"]
        rows.append(row)
    return rows
