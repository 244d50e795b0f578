"""Tables of the documents, from the measurements that are committed beside them.

A table is between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

#: Text in place of a table that cannot be made.
ABSENT = "Not measured for the units as they are now: `make performance` measures it."
MEASUREMENTS = Path(__file__).parents[1] / "measurements"


class NotMeasured(Exception):  # noqa: N818 - no error: the page says so
    """A figure that a table needs is not in the measurements."""


def read(name: str):
    """Measurements of one file; :class:`NotMeasured` without it."""
    file = MEASUREMENTS / f"{name}.json"
    if not file.exists():
        raise NotMeasured(name)
    return json.loads(file.read_text(encoding="utf-8"))


def fill(text: str, tables: dict[str, Callable[[], str]], absent: str) -> str:
    """The document with its tables, by name; ``absent`` replaces one that cannot be made."""

    def table(match: re.Match) -> str:
        make = tables[match[1]]
        try:
            content = make()
        except NotMeasured:
            content = absent
        return f"<!-- table: {match[1]} -->\n\n{content}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)
