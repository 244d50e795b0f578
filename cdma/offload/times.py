"""Times of layers from a CSV file, in place of the calibrated model."""

import math
from dataclasses import replace
from pathlib import Path

from cdma.errors import UserError
from cdma.files import read_csv
from cdma.offload.compute import Times
from cdma.offload.networks.graph import Network

COLUMNS = ("layer", "fwd_ms", "bwd_ms")


def read_times(path: str | Path, network: Network, model: Times) -> Times:
    """Times of all feature layers, their ReLU included.

    Parameters
    ----------
    path : str or Path
        CSV with the columns ``layer``, ``fwd_ms`` and ``bwd_ms``; ``cdma offload layers --csv``
        writes such a file. Other columns may be there.
    network : Network
        The timed part.
    model : Times
        Gives the memory traffic of the layers.

    Raises
    ------
    UserError
        When the file cannot be read, a layer is missing, unknown or given twice, or a time is not a
        positive number.
    """
    found: dict[str, tuple[float, float]] = {}
    names = [layer.name for layer in network.layers]
    _, lines = read_csv(path, "times", COLUMNS)
    for number, line in enumerate(lines, 2):
        if any(line.get(column) is None for column in COLUMNS):
            raise UserError(f"{path}: line {number} lacks one of the columns {', '.join(COLUMNS)}")
        name = line["layer"]
        if name not in names:
            raise UserError(f"{path}: line {number}: {network.name} has no layer {name!r}")
        if name in found:
            raise UserError(f"{path}: line {number}: layer {name!r} is there twice")
        found[name] = tuple(_seconds(path, number, line[key]) for key in COLUMNS[1:])
    missing = [name for name in names if name not in found]
    if missing:
        raise UserError(f"{path}: lacks {len(missing)} layers of {network.name}: {missing[0]}, ...")
    forward, backward = zip(*(found[name] for name in names), strict=True)
    return replace(model, forward=forward, backward=backward)


def _seconds(path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{path}: line {number}: expected a time in ms above 0, not {text!r}")
    return value / 1e3


def layer_rows(network: Network, batch: int, times: Times) -> list[dict]:
    """A row a feature layer: shapes, work and times."""
    return [
        {
            "layer": layer.name,
            "kind": layer.kind + (" + relu" if layer.relu else ""),
            "output": "x".join(map(str, layer.shape)),
            "gflop": 2 * layer.macs * batch / 1e9,
            "output_mib": layer.elements * batch * 4 / 2**20,
            "fwd_ms": 1e3 * forward,
            "bwd_ms": 1e3 * backward,
        }
        for layer, forward, backward in zip(
            network.layers, times.forward, times.backward, strict=True
        )
    ]
