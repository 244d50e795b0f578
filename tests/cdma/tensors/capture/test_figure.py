"""Density over training as a figure."""

import pytest

from cdma.tensors.capture.figure import draw

pytest.importorskip("matplotlib")


def test_names_are_plain_text(tmp_path):
    name = "n$\\bad$"
    history = {"steps": [0, 9], "density": {name: [0.5, 0.4]}, "notes": {f"of {name}": [1, 2]}}
    draw({"name": name, "history": history, "tensors": []}, tmp_path)
    text = (tmp_path / "density.svg").read_text()
    for shown in (f"{name}: density over", f">{name}<", f">of {name}<"):
        assert shown in text
