"""Tables of docs/choosing-parameters.md: both units of every size together."""

import tables
from measured import DOCS, UNITS, records

from cdma.hdl.zvc.config import Config
from cdma.tables import format_table

PAGE = DOCS / "choosing-parameters.md"

#: Bytes per second of uncompressed data that a size is wanted for, in GB/s.
BANDWIDTHS = (0.5, 1, 2, 4, 8, 16, 32, 64)
#: Clocks of standard cells that sizes are given for, in GHz.
CLOCKS = (0.5, 1.0)


def fill(text: str) -> str:
    """The page with its tables as they were measured."""
    made = {"sizes": _sizes, "fpga": _fpga, "cells": _cells}
    return tables.fill(text, made, tables.ABSENT)


def _pairs() -> list[dict]:
    """Each size with what both of its units have together, narrow words and few lanes first."""
    found = records("scaling")
    units = {(each["unit"], each["config"]): each for each in found}
    pairs = []
    for name in dict.fromkeys(each["config"] for each in found):
        both = [units[unit, name] for unit in UNITS if (unit, name) in units]
        if len(both) < len(UNITS):
            continue
        config = Config.parse(name)
        pair = {"config": config, "latency": [each["latency_cycles"] for each in both]}
        if all(each["ecp5"] for each in both):
            fmax = min(each["ecp5"]["fmax_mhz"] for each in both)
            pair |= {
                "lut4": sum(each["ecp5"]["lut4"] for each in both),
                "fmax_mhz": fmax,
                "ecp5_gb_per_s": fmax * config.beat_bytes / 1000,
            }
        cells = [each["asic"]["abc"] for each in both]
        critical = max(each["critical_ns"] for each in cells)
        pair |= {
            "area_um2": sum(each["area_um2"] for each in cells),
            "critical_ns": critical,
            "cells_gb_per_s": config.beat_bytes / critical,
        }
        pairs.append(pair)
    return sorted(pairs, key=lambda each: (each["config"].format.word_bits, each["config"].lanes))


def _sizes() -> str:
    rows = []
    for pair in _pairs():
        config = pair["config"]
        rows.append(
            {
                "size": config.name,
                "block, words": f"{config.format.block_words}",
                "bytes/cycle": config.beat_bytes,
                "latency": "{} + {}".format(*pair["latency"]),
                "LUT4": _number(pair.get("lut4"), 0),
                "Fmax MHz": _number(pair.get("fmax_mhz"), 0),
                "ECP5 GB/s": _number(pair.get("ecp5_gb_per_s"), 1),
                "area um2": _number(pair["area_um2"], 0),
                "critical ns": _number(pair["critical_ns"], 2),
                "Nangate45 GB/s": _number(pair["cells_gb_per_s"], 0),
            }
        )
    return format_table(rows, list(rows[0]), "markdown")


def _fpga() -> str:
    return _smallest("lut4", lambda pair: pair.get("ecp5_gb_per_s", 0))


def _cells() -> str:
    parts = []
    for ghz in CLOCKS:

        def reached(pair, ghz=ghz):
            fits = pair["critical_ns"] <= 1 / ghz
            return pair["config"].beat_bytes * ghz if fits else 0

        parts.append(f"At {ghz:g} GHz:\n\n{_smallest('area_um2', reached)}")
    return "\n\n".join(parts)


def _smallest(cost: str, reached) -> str:
    """For each bandwidth and word width the size that reaches it at the least cost."""
    pairs = _pairs()
    widths = sorted({pair["config"].format.word_bits for pair in pairs})
    rows = []
    for wanted in BANDWIDTHS:
        row = {"GB/s": f"{wanted:g}"}
        for bits in widths:
            fits = [
                pair
                for pair in pairs
                if pair["config"].format.word_bits == bits and reached(pair) >= wanted
            ]
            best = min(fits, key=lambda pair: pair[cost], default=None)
            row[f"{bits}-bit words"] = best["config"].name if best else "several units"
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")


def _number(value, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
