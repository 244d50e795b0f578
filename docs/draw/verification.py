"""Table of coverage in docs/verification.md, from what ``cdma coverage --save`` wrote."""

import json
import re
from pathlib import Path

from cdma.cli.tables import format_table
from cdma.sim.coverage_code import KINDS

MEASUREMENTS = Path(__file__).parents[1] / "measurements"


def fill(text: str) -> str:
    """The document with its table as it was measured."""
    table = f"<!-- table: coverage -->\n\n{_coverage()}\n\n<!-- end -->"
    pattern = r"<!-- table: coverage -->.*?<!-- end -->"
    return re.sub(pattern, lambda _: table, text, flags=re.DOTALL)


def _coverage() -> str:
    records = json.loads((MEASUREMENTS / "coverage.json").read_text(encoding="utf-8"))
    rows = {}
    for record in sorted(records, key=lambda each: each["what"] in KINDS):
        row = rows.setdefault(record["what"], {"what": record["what"]})
        row[record["unit"]] = _shown(record)
    return format_table(list(rows.values()), ("what", "compressor", "decompressor"), "markdown")


def _shown(record: dict) -> str:
    told = f"{record['seen']:,} of {record['kinds']:,}"
    return f"{told}, {record['explained']:,} explained" if record["explained"] else told
