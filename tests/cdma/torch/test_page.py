"""The tables of docs/torch.md are those of the measurements; needs no PyTorch."""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_tables_are_those_of_the_measurements(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "draw")
    saved = importlib.import_module("saved")
    text = saved.PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- table: torch_") == 2
    assert saved.ABSENT not in text
    assert saved.fill(text) == text, "run python docs/draw and commit the page"
