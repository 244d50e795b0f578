"""``cdma capture --torch``: a user's function, and what can be wrong with it."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main

torch = pytest.importorskip("torch")
from cdma.tensors.capture.recorder import Recorder  # noqa: E402

EXAMPLE = Path(__file__).parents[4] / "examples" / "digits_torch.py"
TRAIN = """
import torch
from torch import nn

def train(capture):
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(36, 2), nn.ReLU())
    for step in range(9):
        print("training")
        with capture(model):
            loss = model(torch.randn(8, 1, 8, 8)).square().mean()
        capture.note(loss=loss)
        loss.backward()

def nothing(capture):
    with capture(nn.Identity()):
        pass

def wrong(capture):
    train(capture)
    raise ValueError("of its own\\nsecond line")

def deep(capture):
    nn.Linear(2, 2)(torch.ones(3))

def stopped(capture):
    train(capture)
    raise KeyboardInterrupt

number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder to run in, with a module ``mine`` that nothing has imported yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(TRAIN)
    return tmp_path


@pytest.mark.parametrize("spec", ["mine:train", "mine.py:train", "{}/mine.py:train"])
def test_module_and_file(folder, report, spec, capsys):
    printed = report("capture", "--torch", spec.format(folder), "-o", "out")
    assert printed == json.loads((folder / "out" / "capture.json").read_text())
    assert printed["name"] == "mine"
    assert printed["steps"] == 9
    assert printed["budget"] == 64 << 20
    layers = {(tensor["layer"], tensor["kind"]) for tensor in printed["tensors"]}
    assert layers == {("1", "conv+relu"), ("2", "pool"), ("5", "fc+relu")}
    assert len(printed["tensors"]) == 27
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {tensor["file"] for tensor in printed["tensors"]} | {"capture.json"}
    assert len(printed["history"]["notes"]["loss"]) == 9


def test_what_it_prints(folder, capsys):
    argv = ["capture", "--torch", "mine:train", "-o", "out", "--budget", "60K"]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    first, head, *_, loss = out.splitlines()
    assert first == ("wrote 27 tensors, of 9 of 9 steps, and capture.json to out; density by step:")
    assert head.split("  ")[0] == "layer"
    assert head.endswith("step 8")
    assert loss.split()[:2] == ["loss", "noted"]
    assert err.count("training\n") == 9
    assert "step 0: 1 saved\n" in err


def test_a_seed_replays(folder, report):
    runs = [
        report("capture", "--torch", "mine:train", "-o", name, "--seed", seed)["tensors"]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert runs[0] == runs[1] != runs[2]
    for tensor in runs[0]:
        assert (folder / "a" / tensor["file"]).read_bytes() == (
            folder / "b" / tensor["file"]
        ).read_bytes()


def test_figures(folder):
    pytest.importorskip("matplotlib")
    argv = ["capture", "--torch", "mine:train", "-o", "out", "--figures"]
    assert main(argv) == 0
    assert (folder / "out" / "density.png").read_bytes().startswith(b"\x89PNG")
    svg = (folder / "out" / "density.svg").read_text()
    for text in ("mine: density over training (pooling dashed)", ">1<", ">2<", ">5<", "loss"):
        assert text in svg


def test_an_interrupted_run_is_listed(folder, capsys):
    assert main(["capture", "--torch", "mine:stopped", "-o", "out"]) == 130
    assert len(json.loads((folder / "out" / "capture.json").read_text())["tensors"]) == 27


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mine", "--torch must be MODULE:FUNCTION or FILE.py:FUNCTION, not 'mine'"),
        (":train", "--torch must be MODULE:FUNCTION or FILE.py:FUNCTION, not ':train'"),
        ("mine:", "--torch must be MODULE:FUNCTION or FILE.py:FUNCTION, not 'mine:'"),
        ("mine:other", "mine has no function 'other'"),
        ("mine:number", "mine has no function 'number'"),
        ("none.py:train", "none.py: no such file"),
        (
            "no.such:train",
            "no.such cannot be imported: ModuleNotFoundError: No module named 'no'",
        ),
        ("broken.py:train", "broken.py cannot be imported: NameError: name 'x' is not defined "),
        (
            "mine:nothing",
            "mine:nothing recorded nothing: the forward pass of each step must be inside "
            "'with capture(model):', and the model have ReLU or pooling",
        ),
        ("mine:wrong", "mine:wrong raised ValueError: of its own ("),
        ("mine:deep", "mine:deep raised RuntimeError: "),
    ],
)
def test_refusals(refuse_loudly, folder, spec, message):
    (folder / "broken.py").write_text("\nx\n")
    line = refuse_loudly("capture", "--torch", spec, "-o", "out")
    assert line.startswith(f"cdma capture: {message}")
    if spec in ("broken.py:train", "mine:wrong", "mine:deep"):
        number = {"broken.py:train": 2, "mine:wrong": 21, "mine:deep": 24}[spec]
        assert line.endswith(f"{folder}/{spec.split(':')[0].removesuffix('.py')}.py:{number})")


@pytest.fixture
def refuse_loudly(capsys):
    """Run the command, hold it to status 2, and give the last line on stderr."""

    def run(*argv) -> str:
        assert main(list(argv)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()[-1]

    return run


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--budget", "1K"), "--budget 1024 is too small: it must hold 32 times an image of "),
        (("--budget", "0"), "argument --budget: must be a byte or more"),
        (("--budget", "5X"), "argument --budget: must be bytes such as 500M, not '5X'"),
        (("--steps", "1,2"), "--steps cannot be used with --torch: the function defines the steps"),
    ],
)
def test_refused_options(refuse_loudly, folder, argv, message):
    line = refuse_loudly("capture", "--torch", "mine:train", "-o", "out", *argv)
    assert line.startswith(f"cdma capture: {message}")


@pytest.mark.parametrize("argv", [("--budget", "1M"), ("--figures",)])
def test_options_that_go_with_a_model(refuse, folder, argv):
    line = refuse("capture", "-o", "out", *argv)
    assert line == "cdma capture: --budget and --figures need --torch"


def test_tensors_of_another_run(refuse, folder):
    (folder / "old.npy").touch()
    line = refuse("capture", "--torch", "mine:train", "-o", folder)
    assert line == (
        f"cdma capture: {folder}: holds .npy files already, expected a new or empty folder"
    )


def test_without_pytorch(refuse, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    line = refuse("capture", "--torch", "mine:train", "-o", "out")
    assert line == "cdma capture --torch needs torch: pip install 'cdma-engine[torch]'"


def test_the_example_falls_and_creeps_back(tmp_path, monkeypatch):
    """Density of each layer, of means over some steps, and pooling at every step."""
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location("digits_torch", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "EPOCHS", 30)
    torch.manual_seed(0)
    capture = Recorder(tmp_path, 1 << 24)
    example.train(capture)
    density = {k: np.array(v) for k, v in capture.listing()["history"]["density"].items()}
    assert list(density) == ["relu1", "pool1", "relu2", "relu3", "pool3", "relu4"]
    for layer, values in density.items():
        lowest = np.convolve(values, np.ones(9) / 9, "valid").min()
        assert lowest < values[:10].mean() - 0.03, layer
        assert values[-20:].mean() > lowest + 0.02, layer
    for number in (1, 3):
        assert (density[f"pool{number}"] > density[f"relu{number}"]).all()
