"""Tables of docs/verification.md, from what ``cdma coverage``, ``cdma mutate`` and ``make formal``
saved."""

import tables

from cdma.cli import mutate
from cdma.cli.tables import format_table
from cdma.sim.coverage_code import KINDS


def fill(text: str) -> str:
    """The document with its tables as they were measured."""
    made = {
        "coverage": _coverage,
        "mutants": _mutants,
        "survivors": _survivors,
        "proofs": _proofs,
    }
    return tables.fill(text, made, "Not measured for the units as they are now.")


def _coverage() -> str:
    rows = {}
    for record in sorted(tables.read("coverage"), key=lambda each: each["what"] in KINDS):
        row = rows.setdefault(record["what"], {"what": record["what"]})
        row[record["unit"]] = _shown(record)
    return format_table(list(rows.values()), ("what", "compressor", "decompressor"), "markdown")


def _shown(record: dict) -> str:
    told = f"{record['seen']:,} of {record['kinds']:,}"
    return f"{told}, {record['explained']:,} explained" if record["explained"] else told


def _mutants() -> str:
    return mutate.summary(tables.read("mutation"), "markdown")


def _survivors() -> str:
    return mutate.survivors(tables.read("mutation"), "markdown") or "None."


def _proofs() -> str:
    columns = ("property", "component", "width", "mode", "depth", "seconds")
    return format_table(tables.read("formal"), columns, "markdown")
