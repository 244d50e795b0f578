"""Report of ``cdma fuzz``."""

import shlex
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.hdl.zvc.config import Config
from cdma.verify.fuzz import engine
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


def row(unit: str, config: Config, seed: int, outcome: Outcome, verilog: Path | None) -> dict:
    """A run as plain numbers and texts, fit for JSON; ``verilog`` is the user's file, if any."""
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


def engine_row(config: EngineConfig, sizes: str, seed: int, outcome: engine.Outcome) -> dict:
    """A run of random jobs, as :func:`row`; ``sizes`` are the options of the engine's size."""
    unit = f"--lanes {config.lanes} --word-bits {config.word_bits} --block-words"
    parts = f"cdma fuzz --unit engine {unit} {config.block_words} {sizes}".split()
    replay = " ".join([*parts, f"--seed {seed} --batch {outcome.failed_batch}"])
    return {
        "unit": "engine",
        "config": config.name,
        "seed": seed,
        "packets": outcome.jobs,
        "malformed": outcome.faulty,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": outcome.seconds,
        "errors": dict(sorted(outcome.statuses.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": None if outcome.failed_batch is None else replay,
    }


def _replay(unit, config, seed, batch, verilog):
    """Command that plays a batch again."""
    if batch is None:
        return None
    design = f" --verilog {shlex.quote(str(verilog))}" if verilog else ""
    return f"cdma fuzz --unit {unit} --config {config.name} --seed {seed} --batch {batch}{design}"
