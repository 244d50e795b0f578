"""Format records as a table, as CSV and as JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

from cdma.study.algorithms.registry import ALGORITHMS, BOUND, BOUND_TITLE
from cdma.study.summary import totals
from cdma.tables import Marked, format_table
from cdma.tensors.commonest import hint
from cdma.tensors.load import split

TITLES = {**{name: it.title for name, it in ALGORITHMS.items()}, BOUND: BOUND_TITLE}
#: Fields of a record in the first columns of the CSV file.
_FIELDS = (
    *("tensor", "network", "layer", "kind", "stage", "step", "format", "dtype", "shape", "axes"),
    *("layout", "words", "bytes", "nonzeros", "density", "zero_blocks", "full_blocks", "digest"),
)
_RTL = ("config", "bytes", "cycles", "packets", "problem")
#: Words that hold floating-point numbers of 16 bits in most tensors, and do not say which.
_NO_NUMBERS = ("uint16", "int16")
UNTYPED = """\
uint16, int16: ZVC+ has no such type; where they are bfloat16 or float16, --dtype says so"""
LEGEND = """\
columns of algorithms: bytes of the tensor for each encoded byte (bigger is better)
density: share of words that are not zero; zero, full blocks: share of blocks all zero, none zero
ZVC N: N-bit words for any element type; *: words as wide as the elements, as in the hardware
ZVC+ left, above: words repeat the one before, or also the one a row above; EBPC: model of its paper
RL, blocks and density count elements
mask entropy: bound for a mask coded bit by bit, with the values as they are; not an encoder"""


def text(records: Sequence[Mapping], every_layout: bool = True) -> str:
    """A table of tensors, a table of networks, hints and a legend, for a terminal.

    Parameters
    ----------
    records : sequence of mappings
        Results of :func:`cdma.study.analysis.analyze`.
    every_layout : bool
        Print a row for each layout of a tensor, else only a row for its stored layout.
    """
    if not every_layout:
        records = [record for record in records if record["layout"] == record["axes"]]
    folder = _common_folder([record["tensor"] for record in records])
    rows = [
        {
            **record,
            "tensor": record["tensor"][len(folder) :],
            **_marked(record),
            **_hardware(record),
        }
        for record in records
    ]
    columns = {"tensor": "tensor", "layout": "layout", **_columns(records)}
    parts = [format_table(rows, columns)]
    if len(records) > 1:
        sums = [{**total, **total["ratios"]} for total in totals(records)]
        columns = {name: name for name in ("network", "format", "layout", "tensors")}
        columns |= _columns(records, rtl=False)
        parts.append(format_table(sums, columns))
    hints = {
        record["tensor"][len(folder) :]: hint(record["commonest"], record["density"])
        for record in records
    }
    found = [f"{name}: {text}" for name, text in hints.items() if text]
    if any(record["format"] in _NO_NUMBERS for record in records):
        found.append(UNTYPED)
    return "\n\n".join([*parts, *(["\n".join(found)] if found else []), LEGEND]) + "\n"


def _marked(record: Mapping) -> dict:
    """Ratios. The ratio of words as wide as the elements is marked."""
    if not record["words"]:
        return dict(record["ratios"])
    fits = f"zvc{8 * record['bytes'] // record['words']}"
    ratios = record["ratios"].items()
    return {name: Marked(ratio) if name == fits and ratio else ratio for name, ratio in ratios}


def as_csv(records: Sequence[Mapping]) -> str:
    """A header, and a line for each tensor and layout: sizes in bytes, shares, ratios."""
    names = _names(records)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    sizes = [f"{name}_{what}" for name in names for what in ("bytes", "ratio")]
    writer.writerow([*_FIELDS, *sizes, *(f"rtl_{field}" for field in _RTL)])
    for record in records:
        shape = "x".join(map(str, record["shape"]))
        line = [{**record, "shape": shape}[field] for field in _FIELDS]
        for name in names:
            line += [record["sizes"].get(name), record["ratios"].get(name)]
        writer.writerow(line + [(record["rtl"] or {}).get(field) for field in _RTL])
    return out.getvalue()


def as_json(records: Sequence[Mapping], failures: Mapping[str, str]) -> str:
    """Records, their totals, the titles of the algorithms, and the failures."""
    whole = {
        "records": list(records),
        "totals": totals(records),
        "algorithms": {name: TITLES[name] for name in _names(records)},
        "failures": dict(failures),
    }
    return json.dumps(whole, indent=2) + "\n"


def _common_folder(names: Sequence[str]) -> str:
    """Common folder of all files, with its slash, or ``""``. A table omits this folder."""
    folders = {str(split(name)[0].parent) for name in names}
    common = f"{folders.pop()}/"
    return common if not folders and all(name.startswith(common) for name in names) else ""


def _names(records: Sequence[Mapping]) -> list[str]:
    found = {name for record in records for name in record["sizes"]}
    return [name for name in TITLES if name in found]


def _columns(records: Sequence[Mapping], rtl: bool = True) -> dict[str, str]:
    columns = {"density": "density"} | {name: TITLES[name] for name in _names(records)}
    columns |= {"zero_blocks": "zero blocks", "full_blocks": "full blocks"}
    if rtl and any(record["rtl"] for record in records):
        columns |= {"rtl_config": "RTL", "rtl_bytes": "RTL bytes", "rtl_cycles": "RTL cycles"}
        columns |= {"rtl_per_cycle": "bytes/cycle", "rtl_verdict": "verdict"}
    return columns


def _hardware(record: Mapping) -> dict:
    rtl = record["rtl"]
    if not rtl:
        return {}
    return {
        "rtl_config": rtl["config"],
        "rtl_bytes": rtl["bytes"],
        "rtl_cycles": rtl["cycles"],
        "rtl_per_cycle": record["bytes"] / rtl["cycles"] if rtl["cycles"] else None,
        "rtl_verdict": rtl["problem"] or "equal",
    }
