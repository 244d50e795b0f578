"""Compare two configurations, for each unit and for both units together, and at a given clock."""

from collections.abc import Mapping, Sequence

from cdma.synth.flow.columns import ECP5, FLOW_TITLES, Column, asic_columns
from cdma.tables import format_table

#: Figures that are added for a design with both units.
_SUMMED = ("ecp5.lut4", "ecp5.flip_flops", "ecp5.block_rams", "asic.abc.area_um2", "asic.abc.kge")


def comparison(records: Sequence[Mapping], names: Sequence[str], style: str = "text") -> str:
    """A table with a row for each figure of each unit, and of both together.

    Parameters
    ----------
    records : sequence of mappings
        From :func:`cdma.synth.flow.measure.measure`, for both units at both sizes.
    names : sequence of str
        The two configurations. The last column is the second figure divided by the first.
    style : "text" or "markdown"
    """
    first, second = names
    by_unit: dict[str, dict[str, Mapping]] = {}
    for record in records:
        by_unit.setdefault(record["unit"], {})[record["config"]] = record
    rows = []
    for unit, found in by_unit.items():
        pair = [found.get(name) for name in names]
        rows += _rows(unit, _columns(), lambda column, pair=pair: [column.value(r) for r in pair])
    if len(by_unit) > 1:
        columns = [column for column in _columns() if column.path in _SUMMED]
        rows += _rows("both units", columns, lambda column: _sums(by_unit, names, column))
    headings = {"unit": "unit", "figure": "figure", "a": first, "b": second, "by": "ratio"}
    return format_table(rows, headings, style)


def at_clock(records: Sequence[Mapping], mhz: float, style: str = "text") -> str:
    """A table of bytes per second and latency at a clock. Shows which technology reaches it."""
    rows = []
    for record in records:
        fmax = (record["ecp5"] or {}).get("fmax_mhz")
        cells = (record["asic"] or {}).get("abc") or {}
        period = cells.get("critical_ns")
        latency = record["latency_cycles"]
        rows.append(
            {
                "unit": record["unit"],
                "config": record["config"],
                "speed": record["bytes_per_cycle"] * mhz / 1e3,
                "latency": None if latency is None else latency * 1e3 / mhz,
                "ecp5": None if fmax is None else fmax >= mhz,
                "cells": None if period is None else 1e3 / period >= mhz,
            }
        )
    headings = {
        "unit": "unit",
        "config": "config",
        "speed": "GB/s (+)",
        "latency": "latency ns (-)",
        "ecp5": "ECP5 reaches it",
        "cells": "cells reach it",
    }
    return format_table(rows, headings, style)


def _columns() -> list[Column]:
    cells = [column for flow in FLOW_TITLES for column in asic_columns(flow)[2:]]
    return [*ECP5, *cells]


def _rows(unit, columns, values_of):
    rows = []
    for column in columns:
        a, b = values_of(column)
        if a is None and b is None:
            continue
        ratio = b / a if a and b is not None else None
        flow = column.path.split(".")[1] if column.path.startswith("asic.") else ""
        title = f"{column.heading}, {FLOW_TITLES[flow]}" if flow else column.heading
        rows.append({"unit": unit, "figure": title, "a": a, "b": b, "by": ratio})
    return rows


def _sums(by_unit, names, column):
    totals = []
    for name in names:
        values = [column.value(found.get(name)) for found in by_unit.values()]
        totals.append(None if None in values else sum(values))
    return totals
