"""Table of docs/zvcplus.md: units of several types in standard cells.

``docs/measurements/zvcplus_types.json`` has what ``make performance`` wrote.
"""

import tables
from measured import DOCS, UNITS, records, silicon

from cdma.tables import format_table

PAGE = DOCS / "zvcplus.md"


def fill(text: str) -> str:
    """The page with its table as it is measured."""
    return tables.fill(text, {"types": _types}, tables.ABSENT)


def _types() -> str:
    found = sorted(records("zvcplus_types"), key=lambda each: UNITS.index(each["unit"]))
    rows = [{"unit": each["unit"], "config": each["config"], **silicon(each)} for each in found]
    return format_table(rows, list(rows[0]), "markdown")
