"""What ``cdma fuzz`` tells of a run."""

from cdma.hdl.zvc.config import Config
from cdma.verify.fuzz.play import Outcome

#: Columns of the table.
COLUMNS = {
    "unit": "unit",
    "config": "config",
    "packets": "packets",
    "malformed": "malformed",
    "batches": "batches",
    "cycles": "cycles",
    "seconds": "s",
    "verdict": "verdict",
}


def row(unit: str, config: Config, seed: int, outcome: Outcome) -> dict:
    """A run as plain numbers and texts, fit for JSON."""
    return {
        "unit": unit,
        "config": config.name,
        "seed": seed,
        "packets": outcome.packets,
        "malformed": outcome.malformed if unit == "decompressor" else None,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": outcome.seconds,
        "errors": dict(sorted(outcome.codes.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": _replay(unit, config, seed, outcome.failed_batch),
    }


def _replay(unit, config, seed, batch):
    """Command that plays a batch again."""
    if batch is None:
        return None
    return f"cdma fuzz --unit {unit} --config {config.name} --seed {seed} --batch {batch}"
