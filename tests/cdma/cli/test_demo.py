"""``cdma demo``."""

import json

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.hdl import emit
from cdma.study import demo


@pytest.fixture
def folder(tmp_path):
    """Two tensors of one configuration."""
    for name, words in {"a": np.arange(90, dtype="<u2"), "b": np.zeros(70, "<u2")}.items():
        np.save(tmp_path / f"{name}.npy", words)
    return tmp_path


def test_help_has_an_example(helped):
    assert "\nexample:\n  cdma capture " in helped("demo")


def test_table(folder, capsys):
    assert main(["demo", str(folder), "--lanes", "4"]) == 0
    out, err = capsys.readouterr()
    head, _, *rows, summary = out.splitlines()
    assert head.split()[:4] == ["tensor", "unit", "config", "words"]
    assert len(rows) == 4
    assert summary.startswith("4 runs, 0 bad, in ")
    assert "compressor 4x16: 2 tensors" in err


def test_slow_unit_is_a_bad_row(folder, capsys, monkeypatch):
    monkeypatch.setattr(emit, "latency", lambda unit, config: -1000)
    assert main(["demo", str(folder), "--lanes", "4", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["bad"] == 4
    assert {row["verdict"] for row in result["rows"]} == {"too slow"}


@pytest.mark.parametrize("made", [False, True])
def test_nothing_to_do_is_a_mistake(refuse, tmp_path, made):
    if made:
        (tmp_path / "empty").mkdir()
    message = refuse("demo", tmp_path / "empty")
    assert "`cdma capture -o " in message


def test_a_file_in_place_of_a_folder(folder, refuse):
    line = refuse("demo", str(folder / "a.npy"))
    assert line == f"cdma demo: {folder}/a.npy: is a file, expected a folder of .npy files"


def test_a_wrong_engine_is_refused_before_the_simulations(folder, refuse, monkeypatch):
    monkeypatch.setattr(demo, "run", lambda *_: pytest.fail("it was simulated"))
    line = refuse("demo", folder, "--engine", 3)
    assert line == "cdma demo: Number of channels must be 1, 2, 4 or 8, not 3"
