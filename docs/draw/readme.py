"""The table of results in README.md."""

import tables
from measured import DOCS, UNITS, baseline, shown

from cdma.synth.flow.columns import column_at
from cdma.tables import format_table

PAGE = DOCS.parent / "README.md"
CONFIG = "8x32"

#: Heading and figure.
COLUMNS = {
    "Latency": "latency_cycles",
    "ECP5 LUT4": "ecp5.lut4",
    "FF": "ecp5.flip_flops",
    "Fmax MHz": "ecp5.fmax_mhz",
    "GB/s": "ecp5.gb_per_s",
    "Nangate45 um2": "asic.abc.area_um2",
    "kGE": "asic.abc.kge",
    "Critical path ns": "asic.abc.critical_ns",
    "GB/s at that": "asic.abc.gb_per_s",
}


def fill(text: str) -> str:
    """The page with its table as it was measured."""
    return tables.fill(text, {"results": _results}, tables.ABSENT)


def _results() -> str:
    measured = baseline()
    rows = [
        {CONFIG: unit.capitalize()}
        | {
            heading: shown(measured[unit, CONFIG], column_at(path))
            for heading, path in COLUMNS.items()
        }
        for unit in UNITS
    ]
    return format_table(rows, list(rows[0]), "markdown")
