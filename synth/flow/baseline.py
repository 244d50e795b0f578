"""Compare a report with a baseline: better figures, worse figures, figures without comparison."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.files import write_text
from cdma.synth.flow.columns import SMALLER, Column, every_column
from cdma.synth.flow.report import spread
from cdma.tables import format_table

BETTER, WORSE, SAME = "better", "worse", "same"


@dataclass(frozen=True)
class Change:
    """One figure of one unit, before and now.

    Parameters
    ----------
    unit, config : str
    path, title : str
        Path of the figure in a record, and its title with technology and unit.
    better : "smaller" or "bigger"
    before, now : float
    before_spread, now_spread : str
        The figures as text. Clocks have their [min..max] over the seeds.
    percent : float or None
        Change in percent. ``None`` for a change from 0.
    tolerance_percent : float
        Largest change that counts as noise.
    verdict : "better", "worse" or "same"
    """

    unit: str
    config: str
    path: str
    title: str
    better: str
    before: float
    now: float
    before_spread: str
    now_spread: str
    percent: float | None
    tolerance_percent: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """All changes, and a line for each figure without a comparison."""

    changes: list[Change]
    gaps: list[str]

    @property
    def is_worse(self) -> bool:
        """Whether any figure got worse by more than its tolerance."""
        return any(change.verdict == WORSE for change in self.changes)

    def as_dict(self) -> dict:
        """The comparison for JSON."""
        return {
            "is_worse": self.is_worse,
            "changes": [asdict(change) for change in self.changes],
            "gaps": self.gaps,
        }

    def text(self) -> str:
        """Tables of the worse and the better figures, and the number of the others."""
        parts = []
        for verdict in (WORSE, BETTER):
            changes = [change for change in self.changes if change.verdict == verdict]
            if changes:
                rows = [_row(change) for change in changes]
                parts.append(f"{len(rows)} {verdict}\n{format_table(rows, list(rows[0]))}")
        same = sum(change.verdict == SAME for change in self.changes)
        parts.append("\n".join([f"{same} the same, within their tolerance", *self.gaps]))
        return "\n\n".join(parts) + "\n"


def _row(change: Change) -> dict:
    percent = "from 0" if change.percent is None else f"{change.percent:+.1f} %"
    return {
        "unit": change.unit,
        "config": change.config,
        "figure": f"{change.title} ({'-' if change.better == SMALLER else '+'})",
        "baseline": change.before_spread,
        "now": change.now_spread,
        "change": percent,
        "tolerance": f"{change.tolerance_percent:g} %",
    }


def save(
    path: str | os.PathLike,
    records: Sequence[Mapping],
    tools: Mapping[str, str],
    *,
    keeps_ecp5: bool = False,
) -> None:
    """Write a baseline: the records, and the versions of the tools.

    Parameters
    ----------
    path : path
    records : sequence of records
    tools : dict of str
        Versions by tool.
    keeps_ecp5 : bool
        ECP5 was left out: figures of ECP5 that the file has so far stay.

    Raises
    ------
    UserError
        When the file exists and is no baseline, with ``keeps_ecp5``.
    """
    records = list(records)
    if keeps_ecp5 and Path(path).exists():
        before = load(path)
        tools = {**before.get("tools", {}), **tools}
        records = _with_ecp5(records, before["records"])
    write_text(path, json.dumps({"tools": dict(tools), "records": records}, indent=2) + "\n")


def _with_ecp5(records: list[Mapping], before: Sequence[Mapping]) -> list[dict]:
    """Records with the figures of ECP5 of those before; those measured for ECP5 only stay whole."""
    kept = {(each["unit"], each["config"]): each for each in before if each["ecp5"]}
    merged = []
    for each in records:
        earlier = kept.pop((each["unit"], each["config"]), None)
        has_none = earlier is not None and not each["ecp5"]
        merged.append({**each, "ecp5": earlier["ecp5"]} if has_none else dict(each))
    return merged + [{**each, "asic": None} for each in kept.values()]


def load(path: str | os.PathLike) -> dict:
    """Read a baseline, or the ``synth.json`` of an earlier run.

    Raises
    ------
    UserError
        When the file cannot be read or has other content.
    """
    path = Path(path)
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read this baseline ({error.strerror})") from error
    except ValueError as error:
        raise UserError(f"{path}: not a report of cdma synth ({error})") from error
    records = whole.get("records") if isinstance(whole, dict) else None
    needed = {"unit", "config", "ecp5", "asic"}
    if not isinstance(records, list) or not all(
        isinstance(record, dict) and needed <= set(record) for record in records
    ):
        raise UserError(f"{path}: not a report of cdma synth (no records)")
    return whole


def compare(before: Mapping, records: Sequence[Mapping], tools: Mapping[str, str]) -> Comparison:
    """Compare records with a baseline, figure by figure.

    A figure is better or worse when its change exceeds the tolerance of its column. Figures in
    standard cells are compared only within one library.

    Raises
    ------
    UserError
        When no figure is in both.
    """
    earlier = {(record["unit"], record["config"]): record for record in before["records"]}
    changes, gaps = [], []
    for record in records:
        known = earlier.pop((record["unit"], record["config"]), None)
        name = f"{record['unit']} {record['config']}"
        if known is None:
            gaps.append(f"{name}: not in the baseline")
            continue
        libraries = [(each["asic"] or {}).get("library") for each in (known, record)]
        is_comparable = None in libraries or libraries[0] == libraries[1]
        if not is_comparable:
            gaps.append(f"{name}: cells of {libraries[0]} in the baseline, of {libraries[1]} now")
        for title, column in _columns():
            if column.path.startswith("asic.") and not is_comparable:
                continue
            old, new = column.value(known), column.value(record)
            if old is None and new is None:
                continue
            if old is None or new is None:
                where = "measured now only" if old is None else "in the baseline only"
                gaps.append(f"{name}: {title}: {where}")
            else:
                changes.append(_change(record, known, title, column))
    gaps += [f"{unit} {config}: in the baseline only" for unit, config in earlier]
    gaps += _differing_conditions(before, records, tools)
    if not changes:
        raise UserError(f"nothing to compare with the baseline ({'; '.join(gaps) or 'no records'})")
    return Comparison(changes, gaps)


def _columns() -> list[tuple[str, Column]]:
    """Compared columns, with the technology in the titles."""
    return [
        (f"{technology}: {column.title}" if technology else column.title, column)
        for technology, column in every_column()
        if column.tolerance is not None
    ]


def _change(record: Mapping, known: Mapping, title: str, column: Column) -> Change:
    old, new = column.value(known), column.value(record)
    from_zero = math.inf if new else 0.0
    growth = (new - old) / old if old else from_zero
    if abs(growth) <= column.tolerance:
        verdict = SAME
    else:
        verdict = BETTER if (growth < 0) == (column.better == SMALLER) else WORSE
    return Change(
        record["unit"],
        record["config"],
        column.path,
        title,
        column.better,
        old,
        new,
        _shown(known, column),
        _shown(record, column),
        round(100 * growth, 2) if math.isfinite(growth) else None,
        100 * column.tolerance,
        verdict,
    )


def _shown(record: Mapping, column: Column) -> str:
    value = column.value(record)
    if column.path.endswith(".fmax_mhz"):
        return spread(record[column.path.removesuffix(".fmax_mhz")])
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _differing_conditions(before: Mapping, records: Sequence[Mapping], tools: Mapping) -> list[str]:
    """Lines about seeds and tools that differ from the baseline."""
    known = before.get("tools", {})
    lines = [
        f"{name} {known[name]} in the baseline, {version} now"
        for name, version in tools.items()
        if name in known and known[name] != version
    ]
    seeds = [
        sorted({record["ecp5"]["seeds"] for record in each if record["ecp5"]})
        for each in (before["records"], records)
    ]
    if all(seeds) and seeds[0] != seeds[1]:
        old, new = (", ".join(map(str, each)) for each in seeds)
        lines.append(f"clocks of {old} seeds in the baseline, of {new} now")
    return lines
