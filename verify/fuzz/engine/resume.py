"""What a run of random jobs that goes on has already played."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.verify.fuzz.engine import report
from cdma.verify.fuzz.engine.play import Outcome

#: What a row of a report must have.
_FIELDS = {
    "config",
    "seed",
    "design",
    "problem",
    "packets",
    "batches",
    "cycles",
    "kinds",
    "errors",
    "seconds",
}


def kept(
    path: str | Path,
    sizes: Iterable[tuple[EngineConfig, int]],
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> dict[EngineConfig, Outcome]:
    """Outcomes that a saved report holds, by size; none if there is no such file.

    A size whose design has changed since is left out: it is played again. ``progress`` is called
    with each design that is generated for that.

    Raises
    ------
    UserError
        The file is no report, or one of another seed, of other sizes, or of a run that failed.
    """
    file = Path(path)
    if not file.exists():
        return {}
    rows = _rows(file)
    outcomes = {}
    for config, _ in sizes:
        row = rows.pop(config.name, None)
        if row is None:
            continue
        if row["problem"]:
            raise UserError(f"{file} has a run that failed: play its replay, or delete the file")
        if row["seed"] != seed:
            raise UserError(f"{file} has a run of another seed: delete it")
        if row["design"] == report.design(config, progress):
            outcomes[config] = report.outcome_of(row)
    if rows:
        raise UserError(f"{file} has a run of other sizes: delete it")
    return outcomes


def _rows(file: Path) -> dict[str, dict]:
    """Rows of a report, by the name of their size."""
    try:
        rows = {row["config"]: row for row in json.loads(file.read_bytes())}
        is_report = all(row.keys() >= _FIELDS for row in rows.values())
    except (ValueError, TypeError, KeyError):
        is_report = False
    if not is_report:
        raise UserError(f"{file} is not a report of random jobs: delete it, or name another file")
    return rows
