"""Rows of the validation that a user adds: figures published elsewhere, or measured."""

import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from cdma.errors import UserError
from cdma.files import read_csv
from cdma.offload.builder import Wishes, build
from cdma.offload.schemes.registry import Result, results
from cdma.offload.schemes.step import Step
from cdma.offload.setup import Setup
from cdma.offload.validate.rows import NOT_GIVEN, Row, judged

#: Columns that a file must have.
REQUIRED = ("claim", "network", "scheme", "metric", "figure", "within")
#: Figures of a system, each with the system that stands for "the model says nothing".
METRICS = {
    "step_ms": "oracle", "of_oracle": "oracle", "link_mib": "vdnn-all", "peak_mib": "oracle",
    "pinned_mib": "vdnn-all",
}  # fmt: skip
_OVER = "over:"
_TYPES = {
    field.name: field.type for field in fields(Wishes)
    if field.name not in ("network", "densities", "everything")
}  # fmt: skip
_NUMBERS = {"int": int, "float": float}


def rows(path: str | Path, densities: Sequence[str] = ()) -> list[Row]:
    """A row for each line of a file.

    Parameters
    ----------
    path : str or Path
        CSV. ``claim`` is a text. ``metric`` is a figure of ``cdma offload run``, or
        ``over:SCHEME``, the speed over another system. ``figure`` is its value; the claim holds
        when the model is within ``within`` percent of it. Columns with the name of a field of
        ``Wishes``, such as ``batch``, ``link`` or ``ratio``, describe the run; an empty cell is the
        default. ``source`` is free text.
    densities : sequence of str
        Tensors for lines without a ratio.

    Raises
    ------
    UserError
        When the file cannot be read, or a cell is refused; the message names the line.
    """
    columns, lines = read_csv(path, "figures", REQUIRED)
    for column in columns:
        if column not in (*REQUIRED, "source", *_TYPES):
            known = ", ".join(("source", *_TYPES))
            raise UserError(f"{path}: column {column!r} is unknown, expected one of {known}")
    found = []
    for number, line in enumerate(lines, 2):
        try:
            found.append(_row(line, tuple(densities)))
        except (UserError, ValueError, TypeError) as error:
            raise UserError(f"{path}: line {number}: {error}") from None
    return found


def _row(line: dict, densities: tuple[str, ...]) -> Row:
    if None in line or None in line.values():
        raise ValueError("expected as many cells as there are columns")
    figure, within = (_positive(line, column) for column in ("figure", "within"))
    given = {name: _value(line[name], name) for name in _TYPES if line.get(name)}
    files = () if "ratio" in given else densities
    source = line.get("source") or "no source given"
    rule = f"within {within:g} %"
    if "ratio" not in given and not files:
        reason = "give --densities, or a column ratio"
        return Row(line["claim"], f"{figure:g}", "-", "-", rule, NOT_GIVEN, reason)
    setup = build(Wishes(line["network"], densities=files, **given))
    model, null, beside = _figures(setup, line["scheme"], line["metric"])
    met = abs(model - figure) <= within / 100 * figure
    return Row(
        line["claim"], f"{figure:g}", f"{model:.4g}", f"{beside}: {null:.4g}", rule, judged(met),
        f"added by the user: {source}",
    )  # fmt: skip


def _figures(setup: Setup, scheme: str, metric: str) -> tuple[float, float, str]:
    """Figure of the system, figure of the null model, and its name."""
    if metric.startswith(_OVER):
        other = metric.removeprefix(_OVER)
        slow, fast = (_step(setup, name).seconds for name in (other, scheme))
        return slow / fast, 1.0, "as fast"
    if metric not in METRICS:
        names = ", ".join((*METRICS, _OVER + "SCHEME"))
        raise ValueError(f"metric must be one of {names}, not {metric!r}")
    oracle = _step(setup, "oracle").seconds
    name = METRICS[metric]
    model, null = (_result(setup, each).row(oracle)[metric] for each in (scheme, name))
    return model, null, name


def _result(setup: Setup, name: str) -> Result:
    return next(results(setup, [name]))


def _step(setup: Setup, name: str) -> Step:
    return _result(setup, name).step


def _positive(line: dict, column: str) -> float:
    value = _value(line[column], column, float)
    if value <= 0:
        raise ValueError(f"{column} must be above 0, not {line[column]!r}")
    return value


def _value(text: str, column: str, kind: type | None = None):
    kind = kind or next((t for name, t in _NUMBERS.items() if name in str(_TYPES[column])), str)
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if kind is not str and not math.isfinite(value):
        raise ValueError(f"{column} must be a number, not {text!r}")
    return value
