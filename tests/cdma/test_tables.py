"""Tables of results, counts and lists."""

import numpy as np
import pytest

from cdma.tables import counted, format_table, listed

ROWS = [
    {"unit": "compressor", "luts": 12345, "ns": 0.6149, "fast": True},
    {"unit": "skid", "luts": 7, "ns": None, "fast": False},
    {"unit": "a|b", "luts": np.int64(99), "ns": np.float32(1234.5)},
]


def test_text():
    assert format_table(ROWS, {"unit": "unit", "luts": "LUT4", "ns": "critical ns"}) == (
        "unit          LUT4  critical ns\n"
        "----------  ------  -----------\n"
        "compressor  12,345        0.615\n"
        "skid             7            -\n"
        "a|b             99        1,234"
    )


def test_markdown():
    assert format_table(ROWS, ["unit", "luts", "fast"], style="markdown") == (
        "| unit       |   luts | fast |\n"
        "| ---------- | -----: | ---- |\n"
        "| compressor | 12,345 | yes  |\n"
        "| skid       |      7 | no   |\n"
        "| a\\|b       |     99 | -    |"
    )


def test_without_rows():
    assert format_table([], ["a", "long"]) == "  a  long\n---  ----"


def test_refuses_another_style():
    with pytest.raises(ValueError, match=r"^Style must be 'text' or 'markdown', not 'html'$"):
        format_table(ROWS, ["unit"], style="html")


def test_counts():
    found = [counted(count, "stripe") for count in (0, 1, 2, 2048)]
    assert found == ["0 stripes", "1 stripe", "2 stripes", "2,048 stripes"]


def test_lists():
    assert [listed(list(text)) for text in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
