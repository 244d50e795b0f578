"""``cdma capture``."""

import json
import sys

import pytest

from cdma.cli.main import main
from cdma.tensors.capture import digits


def test_help_has_an_example(helped):
    assert "example:\n  cdma capture -o activations" in helped("capture")


def test_help_names_the_types_and_the_size(helped, tmp_path):
    pytest.importorskip("sklearn")
    tensors = digits.run(tmp_path, (0, 1, 2, 3), 0)["tensors"]  # as many stages as by default
    text = " ".join(helped("capture").split())
    size = sum((tmp_path / tensor["file"]).stat().st_size for tensor in tensors)
    assert f"{size / 1e6:.1f} MB by default" in text
    assert {tensor["layout"] for tensor in tensors} == {"NCHW", "NC"}
    assert "as float32, NCHW or NC, and copies of two layers" in text
    types = {tensor["dtype"] for tensor in tensors} - {"float32"}
    assert types == {"float16", "int8", "float64"}
    assert "as float16, int8 or float64" in text


def test_what_it_prints(tmp_path, capsys):
    pytest.importorskip("sklearn")
    argv = ["capture", "--steps", "0,2", "-o", str(tmp_path)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"wrote 15 tensors and capture.json to {tmp_path}; density by step:\n")
    assert "step 2" in out
    assert "test accuracy" in out.splitlines()[-1]
    assert [line.split(":")[0] for line in err.splitlines()] == ["step 0", "step 2"]
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        (tmp_path / "capture.json").read_text()
    )


def test_stages_and_seed_by_default(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(digits, "run", lambda *arguments: seen.append(arguments))
    assert main(["capture", "-o", str(tmp_path), "--json"]) == 0
    assert seen == [(str(tmp_path), (0, 20, 100, 500), 0)]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("5,5", "must rise, not '5,5'"),
        ("9,1", "must rise, not '9,1'"),
        ("", "must be an integer, zero or more, not ''"),
        ("1,x", "must be an integer, zero or more, not 'x'"),
        ("-1", "must be an integer, zero or more, not '-1'"),
    ],
)
def test_refuses_steps(refuse, tmp_path, steps, message):
    line = refuse("capture", "-o", tmp_path / "out", f"--steps={steps}")
    assert line == f"cdma capture: argument --steps: {message} (see cdma capture --help)"


def test_refuses_a_negative_seed(refuse, tmp_path):
    line = refuse("capture", "-o", tmp_path / "out", "--seed=-1")
    assert "argument --seed: must be an integer, zero or more, not '-1'" in line


def test_a_file_where_the_folder_should_be(refuse, tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "file").touch()
    line = refuse("capture", "-o", tmp_path / "file")
    assert f"-o/--output: {tmp_path}/file: is a file, expected a folder" in line


def test_without_scikit_learn(refuse, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.datasets", raising=False)
    line = refuse("capture", "-o", tmp_path / "out")
    assert line == "cdma capture needs scikit-learn: pip install 'cdma-engine[capture]'"
    assert not (tmp_path / "out").exists()
