"""Times of layers from a CSV file, in place of the calibrated model."""

import math
from dataclasses import replace
from pathlib import Path

from cdma.errors import UserError
from cdma.files import read_csv
from cdma.offload.compute import Times
from cdma.offload.networks.graph import Network
from cdma.tables import counted

COLUMNS = ("layer", "fwd_ms", "bwd_ms")


def read_times(path: str | Path, network: Network, model: Times, batch: int, board: str) -> Times:
    """Times of all feature layers, their ReLU included, at a batch.

    Parameters
    ----------
    path : str or Path
        CSV with the columns ``layer``, ``fwd_ms`` and ``bwd_ms``; ``cdma offload layers --csv``
        writes such a file. ``batch`` and ``board`` may say what the times were measured at, each
        the same in all lines: the times are scaled to the batch of the run. Without ``batch`` they
        are those of the run, without ``board`` those of any GPU. Other columns may be there.
    network : Network
        The timed part.
    model : Times
        Gives the memory traffic of the layers.
    batch : int
        Images of the run.
    board : str
        Name of the board in ``BOARDS``.

    Raises
    ------
    UserError
        When the file cannot be read, a layer is missing, unknown or given twice, a time is not a
        positive number, or the times are of another board.
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
        more = ", ..." if len(missing) > 1 else ""
        lacks = f"{counted(len(missing), 'layer')} of {network.name}: {missing[0]}{more}"
        raise UserError(f"{path}: lacks {lacks}")
    measured = _one(path, lines, "board")
    if measured and measured != board:
        raise UserError(
            f"{path}: these times are of the board {measured}, not of {board}: "
            "give the same with --board, or leave the column board out for another GPU"
        )
    forward, backward = zip(*(found[name] for name in names), strict=True)
    scale = batch / (_batch(path, lines) or batch)  # the model is linear in the batch
    return replace(model, forward=forward, backward=backward).scaled(scale)


def batch_of(path: str | Path) -> int | None:
    """Batch of the times in a file, ``None`` when it does not say; refuses as `read_times`."""
    return _batch(path, read_csv(path, "times", COLUMNS)[1])


def _batch(path, lines: list[dict]) -> int | None:
    text = _one(path, lines, "batch")
    if text and not (text.isascii() and text.isdigit() and int(text)):
        raise UserError(f"{path}: column batch: expected an integer of at least 1, not {text!r}")
    return int(text) if text else None


def _one(path, lines: list[dict], column: str) -> str:
    """Value of an optional column, the same in all lines; empty without the column."""
    values = list(dict.fromkeys(line.get(column) or "" for line in lines))
    if len(values) > 1:
        raise UserError(
            f"{path}: column {column}: expected the same value in all lines, "
            f"not {values[0]!r} and {values[1]!r}"
        )
    return values[0] if values else ""


def _seconds(path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{path}: line {number}: expected a time in ms above 0, not {text!r}")
    return value / 1e3


def layer_rows(network: Network, batch: int, times: Times, board: str) -> list[dict]:
    """A row a feature layer: shapes, work and times, and the batch and board that they are of."""
    return [
        {
            "layer": layer.name,
            "kind": layer.kind + (" + relu" if layer.relu else ""),
            "output": "x".join(map(str, layer.shape)),
            "gflop": 2 * layer.macs * batch / 1e9,
            "output_mib": layer.elements * batch * 4 / 2**20,
            "fwd_ms": 1e3 * forward,
            "bwd_ms": 1e3 * backward,
            "batch": batch,
            "board": board,
        }
        for layer, forward, backward in zip(
            network.layers, times.forward, times.backward, strict=True
        )
    ]
