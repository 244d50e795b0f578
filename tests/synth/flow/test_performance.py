"""The tables of README.md and of the pages on size and speed are those of the measurements."""

import importlib
import re
from pathlib import Path

import pytest

from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.synth.flow.columns import column_at

ROOT = Path(__file__).parents[3]
#: Script in ``docs/draw``, and the page that it fills in.
PAGES = [
    ("performance", "docs/performance.md"),
    ("performance", "docs/experiments.md"),
    ("codecs_page", "docs/codecs.md"),
    ("codecs_page", "docs/zvcplus.md"),
    ("choosing", "docs/choosing-parameters.md"),
    ("readme", "README.md"),
    ("engine", "docs/engine.md"),
    ("engine_performance", "docs/engine-performance.md"),
]


@pytest.fixture(scope="module")
def script():
    """A script of ``docs/draw``, which is no part of the package, by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "draw")
        yield importlib.import_module


@pytest.fixture
def performance(script):
    """The script ``docs/draw/performance.py``."""
    return script("performance")


@pytest.mark.parametrize(("name", "page"), PAGES, ids=[page for _, page in PAGES])
def test_tables_are_current(script, name, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    message = "run python docs/draw, look at the page and commit it"
    assert script(name).fill(text) == text, message


@pytest.mark.parametrize(("name", "page"), PAGES, ids=[page for _, page in PAGES])
def test_no_table_is_empty_or_unknown(script, name, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    tables = re.findall(r"<!-- table: (\w+) -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    assert len(tables) == text.count("<!-- table:") == text.count("<!-- end -->") > 0
    assert all(len(table) > 50 for _, table in tables)
    with pytest.raises(KeyError):
        script(name).fill("<!-- table: nothing --><!-- end -->")


def test_a_name_means_the_block_that_was_measured(script):
    """Where a default block changes, what was measured before needs the block in its name."""
    found = [*script("measured").records("scaling"), *script("measured").records("baseline")]
    for record in found:
        latency = emit.latency(record["unit"], Config.parse(record["config"]))
        assert latency == record["latency_cycles"], (record["unit"], record["config"])
    assert len(found) > 30


def test_a_size_is_recommended_when_both_units_reach_the_bandwidth(script):
    choosing = script("choosing")
    pairs = {pair["config"].name: pair for pair in choosing._pairs()}
    row = next(line for line in choosing._fpga().splitlines() if line.startswith("| 4 "))
    chosen = row.split("|")[4].strip()
    assert pairs[chosen]["ecp5_gb_per_s"] >= 4
    cheaper = [
        pair
        for pair in pairs.values()
        if pair["config"].format.word_bits == 32 and pair.get("lut4", 0) < pairs[chosen]["lut4"]
    ]
    assert all(pair["ecp5_gb_per_s"] < 4 for pair in cheaper if "ecp5_gb_per_s" in pair)


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
