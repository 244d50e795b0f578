"""Tables of docs/codecs.md: the units of both codecs in standard cells, from the measurements.

``docs/measurements/zvcplus.json`` and ``power_*.json`` have what ``make performance`` wrote,
``baseline.json`` the zero-value codec.
"""

import tables
from measured import DOCS, UNITS, baseline, records, silicon

from cdma.synth.power import report
from cdma.tables import format_table

PAGE = DOCS / "codecs.md"


def fill(text: str) -> str:
    """The page with its tables as they are measured."""
    return tables.fill(text, {"hardware": _hardware, "energy": _energy}, tables.ABSENT)


def _energy() -> str:
    both = records("power_zvc") + records("power_zvcplus")
    both.sort(key=lambda each: (each["unit"], each["density"], each["config"]))
    return report.table(both, "markdown")


def _hardware() -> str:
    plus = records("zvcplus")
    rows = []
    for unit in UNITS:
        found = [("ZVC", baseline()[unit, "8x32"])]
        found += [("ZVC+", each) for each in plus if each["unit"] == unit]
        for codec, record in found:
            row = {"unit": unit, "codec": codec, "config": record["config"]}
            rows.append({**row, **silicon(record)})
    return format_table(rows, list(rows[0]), "markdown")
