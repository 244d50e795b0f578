"""``cdma study``: the document from the command line."""

import os
import shutil

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.study import run

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("capture") / "activations"
    assert main(["capture", "-o", str(folder)]) == 0
    return folder


def test_help_has_an_example(helped):
    assert "example:\n  cdma capture -o activations" in helped("study")


@pytest.mark.slow
def test_captured_activations(captured, tmp_path, capsys):
    assert main(["study", str(captured), "-o", str(tmp_path / "new" / "study")]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path}/new/study/study.md and its figures\n"
    text = (tmp_path / "new" / "study" / "study.md").read_text()
    assert "| ZV does not depend on the layout " in text
    assert "16 of 16 tensors" in text
    for name in ("ratio", "density-layers", "density-training"):
        assert (tmp_path / "new" / "study" / "images" / f"study_{name}.svg").is_file()


@pytest.mark.slow
def test_the_same_on_a_cluster_that_loses_a_worker(captured, tmp_path, frail_cluster, monkeypatch):
    assert main(["study", str(captured), "-o", str(tmp_path / "here")]) == 0
    monkeypatch.setattr(run, "sweep", frail_cluster.losing(run.sweep))
    options = ["-o", str(tmp_path / "there"), "--scheduler", frail_cluster.address]
    assert main(["study", str(captured), *options]) == 0
    assert frail_cluster.has_lost()
    here, there = (tmp_path / name / "study.md" for name in ("here", "there"))
    assert there.read_text() == here.read_text()


def test_data_of_the_environment(captured, tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_DATA", str(captured))
    assert main(["study", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "study.md").is_file()


@pytest.mark.parametrize("name", [None, ""])
def test_no_data(refuse, tmp_path, monkeypatch, name):
    monkeypatch.delenv("CDMA_DATA", raising=False)
    if name is not None:
        monkeypatch.setenv("CDMA_DATA", name)
    line = refuse("study", "-o", tmp_path / "out")
    assert line == "cdma study: no tensors given: name files or folders, or set CDMA_DATA"
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_of_a_part(captured, refuse, tmp_path):
    folder = tmp_path / "activations"
    shutil.copytree(captured, folder)
    (folder / "step0000.relu1.npy").write_bytes(b"no array")
    line = refuse("study", folder, "-o", tmp_path / "out")
    assert "step0000.relu1.npy" in line
    assert not (tmp_path / "out").exists()


def test_tensors_without_axes(refuse, tmp_path):
    np.save(tmp_path / "a.npy", np.ones(100, np.float32))
    line = refuse("study", tmp_path, "-o", tmp_path / "out")
    assert line == "cdma study: no fp32 tensor among these has the axes N, C, H and W"
    assert not (tmp_path / "out").exists()


def test_names_are_plain_text(tmp_path):
    names = ("re$\\frac$lu", os.fsdecode(b"bad\xff"))
    for name in names:
        np.save(tmp_path / f"{name}.npy", np.ones((2, 3, 4, 4), np.float32))
    assert main(["study", str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "study.md").read_text("utf-8")
    assert "re$\\frac$lu" in text
    assert "bad\\udcff" in text
