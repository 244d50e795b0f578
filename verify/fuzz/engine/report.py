"""Reports of random runs of the engine."""

from dataclasses import fields

from cdma.engine_config import EngineConfig
from cdma.verify.fuzz.engine.play import Outcome


def row(config: EngineConfig, seed: int, outcome: Outcome) -> dict:
    """A run as a row of numbers and texts for JSON."""
    return {
        "unit": "engine",
        "config": config.name,
        "seed": seed,
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
