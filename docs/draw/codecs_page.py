"""Tables of docs/codecs.md and docs/zvcplus.md: units of both codecs in standard cells.

``docs/measurements/zvcplus.json``, ``zvcplus_types.json`` and ``power_*.json`` have what ``make
performance`` wrote, ``baseline.json`` the zero-value codec.
"""

import tables
from measured import DOCS, UNITS, baseline, records, silicon

from cdma.synth.power import report
from cdma.tables import format_table

PAGES = DOCS / "codecs.md", DOCS / "zvcplus.md"


def fill(text: str) -> str:
    """A page with its tables as they are measured."""
    made = {"hardware": _hardware, "energy": _energy, "types": _types}
    return tables.fill(text, made, tables.ABSENT)


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


def _types() -> str:
    """Units of several types."""
    found = sorted(records("zvcplus_types"), key=lambda each: UNITS.index(each["unit"]))
    rows = [{"unit": each["unit"], "config": each["config"], **silicon(each)} for each in found]
    return format_table(rows, list(rows[0]), "markdown")
