"""Format records as tables. The title of each column has the direction that is better."""

import json
from collections.abc import Mapping, Sequence

from cdma.synth.flow import ecp5, scaling
from cdma.synth.flow.columns import ECP5, FLOW_TITLES, OTHERS, Column, asic_columns, every_column
from cdma.synth.flow.compare import at_clock, comparison
from cdma.synth.flow.fpga import gowin, xilinx
from cdma.synth.flow.peers import PEERS
from cdma.tables import format_table

LEGEND = "(-) smaller is better, (+) bigger is better"
#: Which of the two mappings a reader should use.
SCRIPTS = (
    "cells: quote the figures of ABC's own script, which is what other projects report; the tuned "
    "script shows what more effort gains"
)
ONE_SEED = "Fmax: one seed is an anecdote, 8 seeds move by up to a fifth; take --seeds 8"


def tables(records: Sequence[Mapping], style: str = "text") -> list[tuple[str, str]]:
    """Title and table of each technology of the records."""
    found = []
    if any(record["ecp5"] for record in records):
        seeds = max(record["ecp5"]["seeds"] for record in records if record["ecp5"])
        title = f"{ecp5.TITLE}, Fmax as median [min..max] of {seeds} seeds"
        found.append((title, _table(records, ECP5, style)))
    for name, module in (("xilinx", xilinx), ("gowin", gowin)):
        if kept := [record for record in records if record.get(name)]:
            seeds = max(record[name]["seeds"] for record in kept)
            placed = f", Fmax as median [min..max] of {seeds} seeds" if seeds else ""
            found.append((module.TITLE + placed, _table(kept, OTHERS[name], style)))
    for flow, flow_title in FLOW_TITLES.items():
        kept = [record for record in records if (record["asic"] or {}).get(flow)]
        if kept:
            library = kept[0]["asic"]["library"]
            found.append((f"{library}, {flow_title}", _table(kept, asic_columns(flow), style)))
    return found


def text(
    records: Sequence[Mapping],
    notes: Sequence[str],
    pair: Sequence[str] | None = None,
    mhz: float | None = None,
) -> str:
    """Report for a terminal.

    Parameters
    ----------
    records : sequence of mappings
    notes : sequence of str
    pair : sequence of str, optional
        Two configurations to compare.
    mhz : float, optional
        Clock for the table of bytes per second and latency.
    """
    found = [*tables(records), *scaling.tables(records)]
    parts = [f"{title}\n{table}" for title, table in found]
    parts.append("\n".join([LEGEND, *notes, *_advice(records)]))
    if pair:
        parts.append(comparison(records, pair))
    if mhz:
        parts.append(f"at {mhz:g} MHz\n{at_clock(records, mhz)}")
    return "\n\n".join(parts) + "\n"


def _advice(records: Sequence[Mapping]) -> list[str]:
    found = []
    if any(len([f for f in FLOW_TITLES if (r["asic"] or {}).get(f)]) > 1 for r in records):
        found.append(SCRIPTS)
    if any(record["ecp5"] and record["ecp5"]["seeds"] == 1 for record in records):
        found.append(ONE_SEED)
    return found


def markdown(records: Sequence[Mapping], notes: Sequence[str], tools: Mapping[str, str]) -> str:
    """Report as a document, with the peers."""
    lines = ["# Synthesis report", "", f"{LEGEND}.", ""]
    for title, table in [*tables(records, "markdown"), *scaling.tables(records, "markdown")]:
        lines += [f"## {title}", "", table, ""]
    lines += ["## Peers, measured with the same flow", ""]
    for title, table in tables([peer.record() for peer in PEERS], "markdown"):
        lines += [f"### {title.split(',')[0]}", "", table, ""]
    lines += ["## How it was measured", ""]
    lines += [f"- {name} {version}" for name, version in tools.items()]
    lines += [f"- {note}" for note in [*notes, *_advice(records)]]
    return "\n".join(lines) + "\n"


def as_json(
    records: Sequence[Mapping],
    notes: Sequence[str],
    tools: Mapping[str, str],
    changes: Mapping | None = None,
) -> str:
    """Report for programs: records, titles of the figures, peers, tools and notes.

    ``changes`` is the result of a comparison with a baseline, for JSON.
    """
    whole = {
        "records": list(records),
        "columns": {c.path: {"title": c.title, "better": c.better} for _, c in every_column()},
        "peers": [{**peer.record(), "source": peer.source, "does": peer.does} for peer in PEERS],
        "tools": dict(tools),
        "notes": list(notes),
        **({"comparison": changes} if changes else {}),
    }
    return json.dumps(whole, indent=2) + "\n"


def _table(records: Sequence[Mapping], columns: Sequence[Column], style: str) -> str:
    headings = {"unit": "unit", "config": "config"} | {c.path: c.heading for c in columns}
    rows = []
    for record in records:
        row = {"unit": record["unit"], "config": record["config"]}
        row |= {column.path: column.value(record) for column in columns}
        for name in ("ecp5", "gowin"):
            if row.get(f"{name}.fmax_mhz"):
                row[f"{name}.fmax_mhz"] = spread(record[name])
        rows.append(row)
    return format_table(rows, headings, style)


def spread(figures: Mapping) -> str:
    """Clock on an FPGA in MHz: median, and [min..max] for more than one seed."""
    if figures["seeds"] == 1:
        return f"{figures['fmax_mhz']:.0f}"
    low, high = figures["fmax_mhz_min"], figures["fmax_mhz_max"]
    return f"{figures['fmax_mhz']:.0f} [{low:.0f}..{high:.0f}]"
