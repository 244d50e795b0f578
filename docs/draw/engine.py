"""Tables of docs/engine.md: cycles of tensors through engines."""

import tables
from measured import DOCS, records

from cdma.tables import format_table

PAGE = DOCS / "engine.md"
ABSENT = "Not measured for the engine as it is now: the command below measures it."


def fill(text: str) -> str:
    """The page with its tables as they were measured."""
    return tables.fill(text, {"engine_cycles": _cycles}, ABSENT)


def _cycles() -> str:
    rows = []
    for each in records("engine"):
        row = {
            "tensor": each["tensor"].partition(":")[2] or each["tensor"],
            "channels": str(each["channels"]),
            "bytes": f"{each['bytes']:,}",
            "ratio": f"{each['ratio']:.2f}",
        }
        for direction in ("offload", "prefetch"):
            row[f"{direction} cycles"] = f"{each[f'{direction}_cycles']:,}"
            row[f"{direction} bound"] = f"{each[f'least_{direction}_cycles']:,}"
            row[f"{direction} / bound"] = f"{each[f'{direction}_share']:.2f}"
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")
