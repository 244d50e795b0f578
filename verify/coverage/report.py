"""Coverage of a unit as table rows: functional coverage and code coverage."""

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.hdl.codecs import UnitConfig
from cdma.progress import timed
from cdma.tables import format_table
from cdma.verify.coverage import engine, mixed, scenarios
from cdma.verify.coverage.code import EXPLAINED, KINDS, condense, measure_code
from cdma.verify.coverage.functional import measure as measure_functional

COLUMNS = {
    "unit": "unit",
    "config": "config",
    "what": "what",
    "kinds": "kinds",
    "seen": "seen",
    "explained": "explained",
    "percent": "%",
    "verdict": "verdict",
}


def measure(
    unit: str, config: UnitConfig, seed: int, batches: int, is_functional: bool
) -> list[dict]:
    """Coverage of a unit: one row per point, and one per kind of code coverage.

    Parameters
    ----------
    unit : str
    config : UnitConfig
    seed, batches : int
        As for :func:`cdma.verify.coverage.scenarios.scenarios`.
    is_functional : bool
        Skip code coverage.

    Returns
    -------
    list of dict
        ``unit``, ``config``, ``what``; numbers ``kinds`` (of bins or items), ``seen`` and
        ``explained`` (code only); lists ``missing`` and ``unexpected``.

    Raises
    ------
    UserError
        When the streams end themselves, or a tool is missing.
    """
    if config.format.ends_itself:
        raise UserError("Coverage is measured with a tail of zeros, not of ones")

    def row(what, kinds, seen, explained, missing, unexpected):
        found = {"unit": unit, "config": config.name, "what": what, "kinds": kinds, "seen": seen}
        return found | {"explained": explained, "missing": missing, "unexpected": unexpected}

    def played():
        made = mixed.scenarios if config.parts else scenarios.scenarios
        return made(unit, config, seed, batches)

    found = measure_functional(unit, config, played(), progress=timed(f"{unit}, functional"))
    rows = [
        row(
            point.name,
            len(point.bins),
            len(point.bins) - len(point.missing),
            None,
            point.missing,
            point.unexpected,
        )
        for point in found.points.values()
    ]
    if is_functional or config != EXPLAINED:
        return rows
    code = measure_code(unit, config, played(), progress=timed(f"{unit}, code"))
    for kind in KINDS:
        unreached, unexplained = code.unreached(kind), code.unexplained(kind)
        kinds = len(code.hits[kind])
        explained = len(unreached) - len(unexplained)
        rows.append(row(kind, kinds, kinds - len(unreached), explained, condense(unexplained), []))
    rows[-1]["unexpected"] = condense(code.wrongly_explained)
    return rows


def measure_engine(config: EngineConfig, seed: int, batches: int) -> list[dict]:
    """Functional coverage of the engine: one row per point.

    Parameters
    ----------
    config, seed, batches
        As for :func:`cdma.verify.coverage.engine.measure`.

    Returns
    -------
    list of dict
        As :func:`measure`; ``explained`` counts what cannot be seen, with a reason.
    """
    found = engine.measure(config, seed, batches, progress=timed("engine", apart=2))
    return [
        {
            "unit": "engine",
            "config": config.name,
            "what": point.name,
            "kinds": len(point.bins) + len(point.impossible),
            "seen": len(point.bins) - len(point.missing),
            "explained": len(point.impossible),
            "missing": point.missing,
            "unexpected": point.unexpected,
        }
        for point in found.values()
    ]


def problems(rows: list[dict]) -> list[str]:
    """A line for each row that has items missing, or seen though explained as impossible."""
    return [
        f"{row['unit']}, {row['what']}, {name}: {', '.join(map(str, row[name]))}"
        for row in rows
        for name in ("missing", "unexpected")
        if row[name]
    ]


def text(rows: list[dict]) -> str:
    """The rows as a table."""
    return format_table([_shown(row) for row in rows], COLUMNS)


def _shown(row):
    """A row of the table."""
    missing, unexpected = len(row["missing"]), len(row["unexpected"])
    seen = row["seen"] + (row["explained"] or 0)
    counts = {"missing": missing, "unexpected": unexpected}
    verdicts = [f"{count} {what}" for what, count in counts.items() if count]
    percent = f"{100 * seen / row['kinds']:.2f}".removesuffix(".00")
    return row | {"percent": percent, "verdict": ", ".join(verdicts) or "complete"}
