"""Tables of docs/codecs.md and docs/zvcplus.md: units of both codecs in cells and on ECP5.

``docs/measurements/zvcplus*.json`` and ``power_*.json`` have what ``make performance`` wrote,
``baseline.json`` the zero-value codec.
"""

import tables
from measured import DOCS, UNITS, baseline, records, silicon

from cdma.synth.flow.report import spread
from cdma.synth.power import report
from cdma.tables import format_table

PAGES = DOCS / "codecs.md", DOCS / "zvcplus.md"


def fill(text: str) -> str:
    """A page with its tables as they are measured."""
    made = {"hardware": _hardware, "energy": _energy, "types": _types, "ecp5": _ecp5}
    return tables.fill(text, made, tables.ABSENT)


def _energy() -> str:
    both = records("power_zvc") + records("power_zvcplus")
    both.sort(key=lambda each: (each["unit"], each["density"], each["config"]))
    return report.table(both, "markdown")


def _hardware() -> str:
    rows = [row | silicon(record) for row, record in _both("zvcplus")]
    return format_table(rows, list(rows[0]), "markdown")


def _ecp5() -> str:
    rows = []
    for row, record in _both("zvcplus_ecp5"):
        area = {"LUT4": f"{record['ecp5']['lut4']:,}", "FF": f"{record['ecp5']['flip_flops']:,}"}
        rows.append(row | area | {"Fmax MHz": spread(record["ecp5"])})
    return format_table(rows, list(rows[0]), "markdown")


def _both(plus: str):
    """8x32 of the zero-value codec, and the records of a file of ZVC+: a row's begin, and each."""
    for unit in UNITS:
        found = [("ZVC", baseline()[unit, "8x32"])]
        found += [("ZVC+", each) for each in records(plus) if each["unit"] == unit]
        for codec, record in found:
            yield {"unit": unit, "codec": codec, "config": record["config"]}, record


def _types() -> str:
    """Units of several types."""
    found = sorted(records("zvcplus_types"), key=lambda each: UNITS.index(each["unit"]))
    rows = [{"unit": each["unit"], "config": each["config"], **silicon(each)} for each in found]
    return format_table(rows, list(rows[0]), "markdown")
