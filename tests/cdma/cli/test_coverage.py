"""``cdma coverage``."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.sim import Scenario
from cdma.verify.coverage import scenarios

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / "docs" / "measurements" / "coverage.json"
COMPRESSOR = ("coverage", "--unit", "compressor", "--functional")


@pytest.fixture
def one_packet(monkeypatch):
    """The stimulus is a single packet of four words."""

    def one(unit, config, seed, batches):
        return [Scenario([np.ones(4, config.format.dtype)])]

    monkeypatch.setattr(scenarios, "scenarios", one)


def test_help_has_an_example(helped):
    assert "\nexample:\n  cdma coverage " in helped("coverage")


def test_report(report, tmp_path):
    rows = report(*COMPRESSOR, "--save", tmp_path / "coverage.json")
    assert {row["unit"] for row in rows} == {"compressor"}
    assert len(rows) == 11
    for row in rows:
        assert row["seen"] == row["kinds"] > 3
        assert (row["explained"], row["missing"], row["unexpected"]) == (None, [], [])
    assert json.loads((tmp_path / "coverage.json").read_text()) == rows


def test_what_is_missing_is_named(one_packet, capsys):
    assert main([*COMPRESSOR]) == 1
    out, err = capsys.readouterr()
    line = next(line for line in out.splitlines() if "words of a beat's mask" in line)
    assert line.split()[-5:] == ["1", "-", "11.11", "8", "missing"]
    assert "compressor, words of a beat's mask, missing: 0, 1, 2, 3, 5, 6, 7, 8\n" in err


def test_other_sizes_have_functional_coverage(one_packet, capsys):
    arguments = ["coverage", "--unit", "compressor", "--lanes", "4", "--word-bits", "16", "--json"]
    assert main(arguments) == 1
    rows = json.loads(capsys.readouterr().out)
    assert {row["config"] for row in rows} == {"4x16"}
    assert not {"line", "branch", "toggle"} & {row["what"] for row in rows}


@pytest.mark.slow
def test_code_is_in_the_report(one_packet, capsys):
    assert main(["coverage", "--unit", "compressor", "--json"]) == 1
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["line"]["missing"] == []
    assert rows["toggle"]["explained"] > 100
    assert "s_axis_tdata[31:1]" in rows["toggle"]["missing"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batches", "-1"], "--batches must be 0 or more, not -1"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
        (["--lanes", "3"], "Number of lanes must be a power of two in 2..64, not 3"),
        (["--config", "4x8b16-ones"], "Coverage is measured with a tail of zeros, not of ones"),
        (["--unit", "roundtrip"], "invalid choice: 'roundtrip'"),
    ],
)
def test_mistakes(refuse, options, message):
    assert message in refuse("coverage", *options)


def test_table_of_the_document_is_current(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "draw")
    fill = importlib.import_module("verification").fill
    text = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
    assert text.count("<!-- table: coverage -->") == 1
    assert fill(text) == text, "run python docs/draw and commit the page"
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))
    assert {row["unit"] for row in rows} == {"compressor", "decompressor"}
    assert not any(row["missing"] or row["unexpected"] for row in rows)


@pytest.mark.slow
def test_document_is_what_is_measured(report):
    assert report("coverage") == json.loads(MEASURED.read_text(encoding="utf-8"))
