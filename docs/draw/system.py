"""Log and size of the systems in docs/integrating-the-engine.md."""

import tables
from measured import DOCS

from cdma.tables import format_table

PAGE = DOCS / "integrating-the-engine.md"
ABSENT = "Not measured: `python integration/... --save docs/measurements/...` of this system."


def fill(text: str) -> str:
    """The page with log and size as they were measured."""
    return tables.fill(text, {"soc_log": _log, "board": _board}, ABSENT)


def _log() -> str:
    measured = tables.read("soc")
    log = "\n".join(measured["uart"])
    return f"```text\n{log}\n```\n\n{measured['cycles']:,} cycles from power-up to the last line."


def _board() -> str:
    measured = tables.read("board")
    device = {"lut4": 84_000, "flip_flops": 84_000, "block_rams": 208}
    rows = [
        {"what": name, "system": f"{measured[key]:,}", "LFE5U-85F": f"{device[key]:,}"}
        for key, name in (
            ("lut4", "LUT4"),
            ("flip_flops", "flip-flops"),
            ("block_rams", "block RAM of 2 KiB"),
        )
    ]
    asked = f"{measured['clock_mhz']:g} asked"
    rows.append({"what": "clock, MHz", "system": f"{measured['fmax_mhz']:g}", "LFE5U-85F": asked})
    return format_table(rows, list(rows[0]), "markdown")
