"""Tables of docs/torch.md: a step, and accuracy, of ``examples/lossy_torch.py --save``."""

import tables
from measured import DOCS

from cdma.tables import format_table

PAGE = DOCS / "torch.md"
ABSENT = "Not measured: run `python examples/lossy_torch.py --save docs/measurements/torch.json`."


def fill(text: str) -> str:
    """The page with its tables as they were measured."""
    return tables.fill(text, {"torch_step": _step, "torch_accuracy": _accuracy}, ABSENT)


def _step() -> str:
    rows = [
        {
            "Storage": row["storage"],
            "KiB saved": f"{row['raw_bytes'] / 1024:,.0f}",
            "KiB stored": f"{row['stored_bytes'] / 1024:,.0f}",
            "Ratio": f"{row['ratio']:.2f}",
            "CPU ms": f"{1000 * row['seconds']:.0f}",
            "Gradient deviation": f"{row['gradient_deviation']:.2g}",
        }
        for row in tables.read("torch")["steps"]
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _accuracy() -> str:
    measured = tables.read("torch")
    rows = [
        {"Storage": row["storage"], "Accuracy": f"{accuracy:.1%}"}
        for row, accuracy in zip(measured["steps"], measured["accuracy"], strict=True)
    ]
    return format_table(rows, list(rows[0]), "markdown")
