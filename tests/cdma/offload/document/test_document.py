"""The document: what it says follows from the results, and the one in docs is current."""

import os
import re
from pathlib import Path

import pytest

from cdma.cli.main import main
from cdma.offload.builder import Wishes, build
from cdma.offload.document import document
from cdma.offload.document.results import Paper
from cdma.offload.schemes.registry import rows
from cdma.offload.validate.rows import Row
from cdma.tables import format_table

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "offload.md"
_DATA = pytest.mark.skipif(not os.environ.get("CDMA_DATA"), reason="CDMA_DATA is not set")


def _paper(board: str, cdma: float) -> Paper:
    ms = {"vdnn-all": 150.0, "async": 110.0, "cdma-zv": cdma, "async-zv": 100.0}
    return Paper("AlexNet", board, 2.6, ms, "vdnn-all", "async", 1.05)


def test_the_answer_follows_from_the_results():
    text = document._answer([_paper("titan-x", 100.0), _paper("titan-xp", 150.0)])
    first, second = text.split("On the Titan Xp")
    assert "faster than synchronised vDNN by 50 % on average (50 to 50 %)" in first
    assert "asynchronous offload by 10 % on average" in first
    assert "80 % of its gain" in first
    assert "at most 5 % more peak memory" in first
    assert "less than 1 % on no network" in first
    assert "less than 1 % on AlexNet" in second
    assert "headline" not in text
    claim = Row(
        "cDMA over vDNN, Titan X, 2.6x: average, largest", "+32 %", "+9 %", "", "", "missed"
    )
    text = document._answer([_paper("titan-x", 1.0), _paper("titan-xp", 1.0)], [claim])
    assert text.endswith("\n- Titan X, 2.6x: published +32 %, model +9 %: missed.")


@_DATA
def test_a_row_of_the_page_is_current():
    setup = build(Wishes("alexnet", densities=(os.environ["CDMA_DATA"],)))
    names = ["oracle", "vdnn-all", "cdma-zv", "async", "async-zv", "recompute"]
    found = [row["step_ms"] for row in rows(setup, names)]
    line = next(
        line for line in PAGE.read_text().splitlines() if line.startswith("| Titan X  | AlexNet ")
    )
    table = format_table([dict(zip(names, found, strict=True))], names, "markdown")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[3:9] == [cell.strip() for cell in table.splitlines()[2].strip("|").split("|")]


@_DATA
def test_faster_links_are_the_output_of_the_command_that_the_page_names(capsys):
    page = " ".join(PAGE.read_text().split())
    start, links = re.search(
        r"`cdma (offload advise \w+ --dram \d+)` with ([^.]*)\. The table", page
    ).groups()
    links = re.findall(r"`(--link \d+)`", links)
    section = PAGE.read_text().partition("### Faster links")[2].partition("## Method")[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert len(links) == len(tables) == 2
    for link, table in zip(links, tables, strict=True):
        assert main([*start.split(), *link.split()]) == 0
        printed = capsys.readouterr().out.splitlines()
        rule = next(k for k, line in enumerate(printed) if line.startswith("---"))
        rows = [re.split(r"  +", line.strip()) for line in printed[rule + 1 :]]
        kept = [re.split(r" *\| *", line.strip("|").strip()) for line in table.splitlines()[2:]]
        assert kept == rows


def test_every_figure_is_of_the_page():
    images = {path.name for path in (ROOT / "docs" / "images").glob("offload_*")}
    assert images == set(re.findall(r"\(images/(offload_\w+\.svg)\)", PAGE.read_text()))
    assert len(images) == 10


@_DATA
@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CDMA_PUBLISHED"), reason="CDMA_PUBLISHED is not set")
def test_the_page_is_current(tmp_path):
    pytest.importorskip("matplotlib")
    document.write(tmp_path, [os.environ["CDMA_DATA"]])
    new, kept = (
        re.split(r"(\d+(?:[.,]\d+)*)", (folder / "offload.md").read_text())
        for folder in (tmp_path, ROOT / "docs")
    )
    assert new == kept
    drawn = {path.name for path in (tmp_path / "images").iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs" / "images").glob("offload_*")}
