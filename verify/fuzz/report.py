"""Report of ``cdma fuzz``."""

import shlex
from pathlib import Path

from cdma.hdl.codecs import UnitConfig
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


def row(unit: str, config: UnitConfig, seed: int, outcome: Outcome, verilog: Path | None) -> dict:
    """A run as a row of numbers and texts for JSON. ``verilog`` is the user's file, if any."""
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
        "replay": _replay(unit, config, seed, outcome.failed_batch, verilog),
    }


def _replay(unit, config, seed, batch, verilog):
    """Command that replays a batch."""
    if batch is None:
        return None
    design = f" --verilog {shlex.quote(str(verilog))}" if verilog else ""
    return f"cdma fuzz --unit {unit} --config {config.name} --seed {seed} --batch {batch}{design}"
