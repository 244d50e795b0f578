"""What was measured of the units, as the tables of several pages need it."""

from pathlib import Path

import tables

from cdma.synth.flow.columns import Column, column_at
from cdma.synth.flow.report import spread

DOCS = Path(__file__).parents[1]
UNITS = ("compressor", "decompressor")
_PATHS = ("area_um2", "kge", "critical_ns", "gb_per_s", "gb_per_s_per_mm2")


def records(name: str) -> list[dict]:
    """Records of one file of measurements."""
    return tables.read(name)["records"]


def baseline() -> dict[tuple[str, str], dict]:
    """Records of the named configurations, by unit and configuration."""
    return Measured({(each["unit"], each["config"]): each for each in records("baseline")})


class Measured(dict):
    """Records, where a missing one is :class:`tables.NotMeasured`."""

    def __missing__(self, key):
        raise tables.NotMeasured(key)


def shown(record: dict, column: Column) -> str:
    """A figure as text: Fmax with its spread over the seeds."""
    value = column.value(record)
    if value is None:
        return "-"
    if column.path == "ecp5.fmax_mhz":
        return spread(record["ecp5"])
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def silicon(record: dict) -> dict[str, str]:
    """Latency of a unit, and its figures in standard cells, as text by heading."""
    row = {"latency": f"{record['latency_cycles']}"}
    for column in (column_at(f"asic.abc.{path}") for path in _PATHS):
        row[column.heading] = shown(record, column)
    tuned = column_at("asic.tuned.critical_ns")
    return {**row, f"tuned: {tuned.heading}": shown(record, tuned)}
