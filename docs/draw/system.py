"""The log of the system in docs/integrating-the-engine.md, of ``make soc``."""

import tables
from measured import DOCS

PAGE = DOCS / "integrating-the-engine.md"
ABSENT = "Not measured: `python integration/litex build/soc --save docs/measurements/soc.json`."


def fill(text: str) -> str:
    """The page with the log as it was measured."""
    return tables.fill(text, {"soc_log": _log}, ABSENT)


def _log() -> str:
    measured = tables.read("soc")
    log = "\n".join(measured["uart"])
    return f"```text\n{log}\n```\n\n{measured['cycles']:,} cycles from power-up to the last line."
