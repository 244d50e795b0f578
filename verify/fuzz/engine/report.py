"""Reports of random runs of the engine."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.toolchain.cache import digest
from cdma.verify.fuzz.engine.play import Outcome


def row(config: EngineConfig, seed: int, outcome: Outcome) -> dict:
    """A run as a row of numbers and texts for JSON."""
    return {
        "unit": "engine",
        "config": config.name,
        "seed": seed,
        "design": design(config),
        "packets": outcome.jobs,
        "malformed": outcome.faulty,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": round(outcome.seconds, 1),
        "kinds": dict(sorted(outcome.kinds.items())),
        "errors": dict(sorted(outcome.statuses.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": replay(config, seed, outcome),
    }


def outcome_of(row: dict) -> Outcome:
    """The outcome of a run without a failure, from its row, so that the run can continue."""
    return Outcome(
        row["packets"],
        row["batches"],
        row["cycles"],
        Counter(row["kinds"]),
        Counter(row["errors"]),
        row["seconds"],
    )


def design(config: EngineConfig, progress: Callable[[str], None] | None = None) -> str:
    """Digest of the generated Verilog: of other designs, a run with the same seed is another."""
    return digest(designs.engine(config, None, progress))


def replay(config: EngineConfig, seed: int, outcome: Outcome) -> str | None:
    """Command that plays a failed round again, if there is one."""
    if outcome.failed_batch is None:
        return None
    where = f"--seed {seed} --batch {outcome.failed_batch}"
    return f"cdma fuzz --unit engine {options(config)} {where}"


def options(config: EngineConfig) -> str:
    """Options of the command for a size."""
    given = {each.name: getattr(config, each.name) for each in fields(config)}
    if config.is_plus:
        for name in ("lanes", "word_bits", "block_words"):
            del given[name]
    else:
        del given["type"], given["codec"]
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
