"""Picture and tables of docs/performance.md and docs/experiments.md, from the measurements.

``docs/measurements`` has what ``cdma synth --sweep``, ``cdma synth --alternatives`` and ``cdma
power --json`` wrote, ``baseline.json`` the named configurations with all seeds.
"""

import re

import tables
from measured import DOCS, UNITS, baseline, records, shown

from cdma.synth.flow import plot, scaling
from cdma.synth.flow.columns import BIGGER, SMALLER, Column, column_at
from cdma.synth.flow.report import spread
from cdma.synth.power import report
from cdma.tables import format_table

#: The pages, each of which has some of the tables.
PAGES = (DOCS / "performance.md", DOCS / "experiments.md")

#: Of 8 lanes of 32 bits: figure, then for each unit what it must reach, and what would be better.
TARGETS = (
    ("ecp5.fmax_mhz", (250, 250), (300, 300)),
    ("ecp5.lut4", (3500, 3500), (2500, 2500)),
    ("asic.abc.area_um2", (30_000, 25_000), (20_000, 20_000)),
    ("asic.abc.critical_ns", (0.60, 0.60), (0.50, 0.50)),
    ("asic.abc.gb_per_s_per_mm2", (2500, 3000), (3500, 4000)),
    ("latency_cycles", (12, 8), (8, 6)),
)
#: Least Fmax in MHz of other shapes.
SHAPES = {"16x16": 200, "32x8": 200, "32x32b128": 170}


def draw() -> str:
    """Area, clock and bytes per second of every size, as SVG."""
    return plot.render(records("scaling"), "svg").decode()


def fill(text: str) -> str:
    """A page with its tables as they are measured."""
    made = {
        "targets": _targets,
        "shapes": _shapes,
        "paths": _paths,
        "ecp5": lambda: _sizes("ecp5.lut4", "ecp5.flip_flops", "ecp5.lut_rams", "ecp5.block_rams"),
        "cells": _cells,
        "fpga": _fpga,
        "growth": _growth,
        "networks": lambda: _alternatives("network"),
        "stalls": lambda: _alternatives("stall"),
        "buffers": lambda: _alternatives("buffer"),
        "limits": lambda: _alternatives("limit"),
        "floor": _floor,
        "power": lambda: report.table(records("power"), "markdown"),
        "tools": _tools,
    }
    return tables.fill(text, made, tables.ABSENT)


def _verdict(value: float, column: Column, must: float, better: float) -> str:
    reaches = {SMALLER: lambda limit: value <= limit, BIGGER: lambda limit: value >= limit}
    if reaches[column.better](better):
        return "beyond"
    return "met" if reaches[column.better](must) else "missed"


def _targets() -> str:
    measured = baseline()
    rows = []
    for path, musts, betters in TARGETS:
        column = column_at(path)
        technology = path.split(".")[0]
        prefix = {"ecp5": "ECP5 ", "asic": "Nangate45 "}.get(technology, "")
        sign = "<=" if column.better == SMALLER else ">="
        row = {"figure": prefix + column.title}
        for unit, must, better in zip(UNITS, musts, betters, strict=True):
            record = measured[unit, "8x32"]
            row[unit] = shown(record, column)
            row[f"{unit}: wanted, better"] = f"{sign} {must:,}, {better:,}"
            row[f"{unit}: verdict"] = _verdict(column.value(record), column, must, better)
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")


def _shapes() -> str:
    measured, column = baseline(), column_at("ecp5.fmax_mhz")
    rows = []
    for config, must in SHAPES.items():
        row = {"shape": config, "wanted MHz": f">= {must}"}
        for unit in UNITS:
            record = measured[unit, config]
            verdict = _verdict(column.value(record), column, must, must)
            row[f"{unit} MHz"] = shown(record, column)
            row[f"{unit}: verdict"] = "missed" if verdict == "missed" else "met"
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")


def _paths() -> str:
    # As code: Markdown takes the brackets of names for links.
    rows = [
        {
            "unit": unit,
            "config": config,
            "critical ns": shown(record, column_at("asic.abc.critical_ns")),
            "from register to register": re.sub(
                r"(\S+) to (\S+),", r"`\1` to `\2`,", record["asic"]["abc"]["critical_path"]
            ),
        }
        for (unit, config), record in baseline().items()
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _sizes(*areas: str) -> str:
    columns = [column_at(path) for path in (*areas, "ecp5.fmax_mhz", "ecp5.gb_per_s")]
    return _table(records("scaling"), columns)


def _cells() -> str:
    names = ("area_um2", "logic_um2", "storage_um2", "critical_ns", "gb_per_s", "gb_per_s_per_mm2")
    return _table(records("scaling"), [column_at(f"asic.abc.{name}") for name in names])


def _fpga() -> str:
    """Other FPGAs: cells as LUT, FF, LUT RAM, block RAM, and the clock where it was measured."""
    kinds = ("luts", "flip_flops", "lut_rams", "block_rams")
    rows = []
    for record in records("fpga"):
        row = {"unit": record["unit"], "config": record["config"]}
        for name, title in (("xilinx", "AMD 7 series"), ("gowin", "GW2A")):
            figures = record.get(name)
            cells = [column_at(f"{name}.{kind}") for kind in kinds]
            heading = f"{title}: {', '.join(column.title for column in cells)} (-)"
            shown_ = [f"{column.value(record):,}" for column in cells] if figures else ["-"]
            row[heading] = " / ".join(shown_)
        row["GW2A: Fmax MHz (+)"] = spread(record["gowin"]) if record.get("gowin") else "-"
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")


def _table(records: list[dict], columns: list[Column]) -> str:
    rows = []
    for record in sorted(
        records, key=lambda each: (each["unit"], each["word_bits"], each["lanes"])
    ):
        row = {"unit": record["unit"], "config": record["config"]}
        rows.append(row | {column.heading: shown(record, column) for column in columns})
    return format_table(rows, list(rows[0]), "markdown")


def _growth() -> str:
    found = scaling.tables(records("scaling"), "markdown")
    return "\n\n".join(f"{title}:\n\n{table}" for title, table in found)


def _alternatives(kind: str) -> str:
    paths = ("ecp5.lut4", "ecp5.flip_flops", "ecp5.lut_rams", "ecp5.block_rams", "ecp5.fmax_mhz")
    paths += tuple(f"asic.abc.{name}" for name in ("logic_um2", "storage_um2", "critical_ns"))
    rows = []
    for record in records("alternatives"):
        found, _, what = record["unit"].partition(": ")
        if found == kind:
            columns = [column_at(path) for path in paths]
            rows.append({kind: what} | {each.heading: shown(record, each) for each in columns})
    return format_table(rows, list(rows[0]), "markdown")


def _floor() -> str:
    """Parts that no design can do without, in cells, beside the units."""
    parts = {record["unit"]: record["asic"]["abc"] for record in records("alternatives")}
    beat = parts["limit: a beat's register"]["area_um2"]
    needs = {
        "a block, until its mask is known": (parts["limit: a block's words"]["area_um2"], 0.0),
        "two beats of the stream, since a beat's words straddle two": (0.0, 2 * beat),
        "the beat that is being filled": (beat, 0.0),
        "the beat that is offered": (beat, beat),
        "the network's multiplexers": (parts["limit: switches alone"]["area_um2"],) * 2,
    }
    measured = baseline()
    areas = [measured[unit, "8x32"]["asic"]["abc"]["area_um2"] for unit in UNITS]
    rows = [
        {"part, um2": what} | {unit: f"{area:,.0f}" if area else "" for unit, area in pairs(areas_)}
        for what, areas_ in needs.items()
    ]
    totals = [sum(each) for each in zip(*needs.values(), strict=True)]
    rows.append({"part, um2": "sum"} | {unit: f"{area:,.0f}" for unit, area in pairs(totals)})
    rows.append({"part, um2": "the unit"} | {unit: f"{area:,.0f}" for unit, area in pairs(areas)})
    ratios = [area / total for area, total in zip(areas, totals, strict=True)]
    rows.append({"part, um2": "unit over sum"} | {u: f"{ratio:.1f}" for u, ratio in pairs(ratios)})
    return format_table(rows, list(rows[0]), "markdown")


def pairs(values):
    """Each unit with its value."""
    return zip(UNITS, values, strict=True)


def _tools() -> str:
    tools = tables.read("baseline")["tools"]
    named = ", ".join(f"{name} {version}" for name, version in tools.items())
    sources = {
        "the units' named sizes": list(baseline().values()),
        "all sizes": records("scaling"),
        "what was considered": records("alternatives"),
    }
    seeds = [f"{_seeds(found)} for {what}" for what, found in sources.items()]
    return f"{named}; seeds of place-and-route: {', '.join(seeds)}."


def _seeds(found: list[dict]) -> str:
    """Numbers of seeds of some records."""
    numbers = sorted({record["ecp5"]["seeds"] for record in found if record["ecp5"]})
    return " or ".join(str(number) for number in numbers)
