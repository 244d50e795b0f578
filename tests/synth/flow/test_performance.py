"""The tables of docs/performance.md are those of the measurements beside it."""

import importlib
import re
from pathlib import Path

import pytest

from cdma.synth.flow.columns import column_at

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture(scope="module")
def performance():
    """The script ``docs/draw/performance.py``, which is no part of the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "draw")
        return importlib.import_module("performance")


def test_tables_are_current(performance):
    text = PAGE.read_text(encoding="utf-8")
    assert performance.fill(text) == text, "run python docs/draw, look at the page and commit it"


def test_no_table_is_empty_or_unknown(performance):
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"<!-- table: (\w+) -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    assert len(tables) == text.count("<!-- table:") == text.count("<!-- end -->")
    assert all(len(table) > 50 for _, table in tables)
    with pytest.raises(KeyError):
        performance.fill("<!-- table: nothing --><!-- end -->")


@pytest.mark.parametrize(
    ("path", "value", "verdict"),
    [
        ("ecp5.lut4", 2000, "beyond"),
        ("ecp5.lut4", 2501, "met"),
        ("ecp5.lut4", 3501, "missed"),
        ("ecp5.fmax_mhz", 5000, "beyond"),
        ("ecp5.fmax_mhz", 3000, "met"),
        ("ecp5.fmax_mhz", 2000, "missed"),
    ],
)
def test_verdict(performance, path, value, verdict):
    column = column_at(path)
    must, better = (3500, 2500) if column.better == "smaller" else (2500, 4000)
    assert performance._verdict(value, column, must, better) == verdict
