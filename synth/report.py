"""Lays records out as tables, where every column says which way is better."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdma.cli.tables import format_table
from cdma.synth.peers import PEERS

SMALLER, BIGGER = "smaller", "bigger"
_SIGN = {SMALLER: " (-)", BIGGER: " (+)"}
LEGEND = "(-) smaller is better, (+) bigger is better"


@dataclass(frozen=True)
class Column:
    """A figure in a table.

    Parameters
    ----------
    path : str
        Where a record has it, keys joined by dots.
    title : str
        What it is, with its unit.
    better : "smaller" or "bigger"
    """

    path: str
    title: str
    better: str

    @property
    def heading(self) -> str:
        """Title and direction."""
        return self.title + _SIGN[self.better]

    def value(self, record: Mapping):
        """The record's figure, ``None`` where it has none."""
        for key in self.path.split("."):
            record = record.get(key) if record else None
        return record


_WIDTH = Column("bytes_per_cycle", "bytes/cycle", BIGGER)

ECP5 = (
    _WIDTH,
    Column("ecp5.lut4", "LUT4", SMALLER),
    Column("ecp5.flip_flops", "FF", SMALLER),
    Column("ecp5.carries", "carry", SMALLER),
    Column("ecp5.lut_rams", "LUT RAM", SMALLER),
    Column("ecp5.block_rams", "block RAM", SMALLER),
    Column("ecp5.multipliers", "multiplier", SMALLER),
    Column("ecp5.fmax_mhz", "Fmax MHz", BIGGER),
    Column("ecp5.gb_per_s", "GB/s", BIGGER),
    Column("ecp5.gb_per_s_per_klut", "GB/s per kLUT", BIGGER),
)


def asic_columns(flow: str) -> tuple[Column, ...]:
    """Columns of the figures in standard cells, mapped with one script of ABC."""
    return (
        _WIDTH,
        Column(f"asic.{flow}.area_um2", "area um2", SMALLER),
        Column(f"asic.{flow}.kge", "kGE", SMALLER),
        Column(f"asic.{flow}.logic_um2", "logic um2", SMALLER),
        Column(f"asic.{flow}.storage_um2", "storage um2", SMALLER),
        Column(f"asic.{flow}.critical_ns", "critical ns", SMALLER),
        Column(f"asic.{flow}.gb_per_s", "GB/s", BIGGER),
        Column(f"asic.{flow}.gb_per_s_per_mm2", "GB/s per mm2", BIGGER),
    )


FLOW_TITLES = {"abc": "ABC's own script", "tuned": "tuned script"}


def tables(records: Sequence[Mapping], style: str = "text") -> list[tuple[str, str]]:
    """Title and table of each technology that the records have figures in."""
    found = []
    if any(record["ecp5"] for record in records):
        seeds = max(record["ecp5"]["seeds"] for record in records if record["ecp5"])
        title = f"ECP5 LFE5UM5G-85F speed 8, Fmax as median [min..max] of {seeds} seeds"
        found.append((title, _table(records, ECP5, style)))
    for flow, flow_title in FLOW_TITLES.items():
        kept = [record for record in records if (record["asic"] or {}).get(flow)]
        if kept:
            library = kept[0]["asic"]["library"]
            found.append((f"{library}, {flow_title}", _table(kept, asic_columns(flow), style)))
    return found


def text(records: Sequence[Mapping], notes: Sequence[str]) -> str:
    """Report for a terminal."""
    parts = [f"{title}\n{table}" for title, table in tables(records)]
    return "\n\n".join([*parts, "\n".join([LEGEND, *notes])]) + "\n"


def markdown(records: Sequence[Mapping], notes: Sequence[str], tools: Mapping[str, str]) -> str:
    """Report as a document, with the peers beside it."""
    lines = ["# Synthesis report", "", f"{LEGEND}.", ""]
    for title, table in tables(records, "markdown"):
        lines += [f"## {title}", "", table, ""]
    lines += ["## Peers, measured with the same flow", ""]
    for title, table in tables([peer.record() for peer in PEERS], "markdown"):
        lines += [f"### {title.split(',')[0]}", "", table, ""]
    lines += ["## How it was measured", ""]
    lines += [f"- {name} {version}" for name, version in tools.items()]
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"


def as_json(records: Sequence[Mapping], notes: Sequence[str], tools: Mapping[str, str]) -> str:
    """Report for programs: records, what each figure means, peers, tools and notes."""
    columns = [*ECP5, *(column for flow in FLOW_TITLES for column in asic_columns(flow))]
    whole = {
        "records": list(records),
        "columns": {c.path: {"title": c.title, "better": c.better} for c in columns},
        "peers": [{**peer.record(), "source": peer.source, "does": peer.does} for peer in PEERS],
        "tools": dict(tools),
        "notes": list(notes),
    }
    return json.dumps(whole, indent=2) + "\n"


def _table(records: Sequence[Mapping], columns: Sequence[Column], style: str) -> str:
    headings = {"unit": "unit", "config": "config"} | {c.path: c.heading for c in columns}
    rows = []
    for record in records:
        row = {"unit": record["unit"], "config": record["config"]}
        row |= {column.path: column.value(record) for column in columns}
        if row.get("ecp5.fmax_mhz"):
            row["ecp5.fmax_mhz"] = _spread(record["ecp5"])
        rows.append(row)
    return format_table(rows, headings, style)


def _spread(figures: Mapping) -> str:
    if figures["seeds"] == 1:
        return f"{figures['fmax_mhz']:.0f}"
    low, high = figures["fmax_mhz_min"], figures["fmax_mhz_max"]
    return f"{figures['fmax_mhz']:.0f} [{low:.0f}..{high:.0f}]"
