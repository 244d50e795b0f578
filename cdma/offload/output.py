"""Rows of results as a table, JSON or CSV."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

from cdma.tables import format_table

SCHEME_COLUMNS = {
    "title": "scheme",
    "step_ms": "step ms",
    "of_oracle": "of oracle",
    "link_mib": "link MiB",
    "peak_mib": "peak MiB",
    "pinned_mib": "pinned MiB",
    "lossless": "lossless",
}


def as_csv(rows: Sequence[Mapping]) -> str:
    """Rows as CSV, with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(rows: Sequence[Mapping], **about) -> str:
    """Rows as JSON, under ``rows``, with what they are about."""
    return json.dumps({**about, "rows": list(rows)}, indent=2)


def as_table(rows: Sequence[Mapping], columns: Mapping[str, str] = SCHEME_COLUMNS) -> str:
    """Rows as a table."""
    return format_table(rows, columns)
