"""Tables of docs/verification.md, from what ``cdma coverage``, ``cdma mutate`` and ``make formal``
saved."""

import json
import re
from pathlib import Path

from cdma.cli import mutate
from cdma.cli.tables import format_table
from cdma.sim.coverage_code import KINDS

MEASUREMENTS = Path(__file__).parents[1] / "measurements"


def fill(text: str) -> str:
    """The document with its tables as they were measured."""
    tables = {
        "coverage": _coverage,
        "mutants": _mutants,
        "survivors": _survivors,
        "proofs": _proofs,
    }

    def table(match: re.Match) -> str:
        try:
            content = tables[match[1]]()
        except FileNotFoundError:
            content = "Not measured for the units as they are now."
        return f"<!-- table: {match[1]} -->\n\n{content}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def _read(name: str) -> list[dict]:
    return json.loads((MEASUREMENTS / f"{name}.json").read_text(encoding="utf-8"))


def _coverage() -> str:
    rows = {}
    for record in sorted(_read("coverage"), key=lambda each: each["what"] in KINDS):
        row = rows.setdefault(record["what"], {"what": record["what"]})
        row[record["unit"]] = _shown(record)
    return format_table(list(rows.values()), ("what", "compressor", "decompressor"), "markdown")


def _shown(record: dict) -> str:
    told = f"{record['seen']:,} of {record['kinds']:,}"
    return f"{told}, {record['explained']:,} explained" if record["explained"] else told


def _mutants() -> str:
    return mutate.summary(_read("mutation"), "markdown")


def _survivors() -> str:
    return mutate.survivors(_read("mutation"), "markdown") or "None."


def _proofs() -> str:
    columns = ("property", "component", "width", "mode", "depth", "seconds")
    return format_table(_read("formal"), columns, "markdown")
