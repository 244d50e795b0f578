"""What a run of random jobs that goes on has already played."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.verify.fuzz.engine import report
from cdma.verify.fuzz.engine.play import Outcome


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
        The report is of another seed, of other sizes, or of a run that failed.
    """
    file = Path(path)
    if not file.exists():
        return {}
    rows = {row["config"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
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
