"""``cdma capture``: honest training, and the tensors of it."""

import json
import sys

import numpy as np
import pytest

from cdma.cli.main import main


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """One run with the options' defaults."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("capture") / "activations"
    assert main(["capture", "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def listing(captured):
    return json.loads((captured / "capture.json").read_text())


def test_help_has_an_example(helped):
    assert "example:\n  cdma capture -o activations" in helped("capture")


def test_the_network_learns(listing):
    accuracies = [stage["test_accuracy"] for stage in listing["stages"]]
    assert accuracies == sorted(accuracies)
    assert accuracies[0] < 0.3
    assert accuracies[-1] > 0.9


def test_the_listing_tells_what_the_files_hold(captured, listing):
    names = {tensor["file"] for tensor in listing["tensors"]}
    assert len(names) == len(listing["tensors"]) == 25
    assert {path.name for path in captured.iterdir()} == names | {"capture.json"}
    accuracies = {stage["step"]: stage["test_accuracy"] for stage in listing["stages"]}
    for tensor in listing["tensors"]:
        array = np.load(captured / tensor["file"])
        assert list(array.shape) == tensor["shape"]
        assert array.dtype.name == tensor["dtype"]
        assert array.flags.c_contiguous
        assert np.count_nonzero(array) / array.size == tensor["density"]
        kind = {"r": "conv+relu", "p": "pool"}[tensor["layer"][0]]
        assert tensor["kind"] == ("fc+relu" if tensor["layer"] == "relu3" else kind)
        assert tensor["test_accuracy"] == accuracies[tensor["step"]]
        assert array.min() == 0  # rectified


def test_every_stage_has_every_layer(listing):
    seen = {(t["step"], t["layer"]) for t in listing["tensors"] if t["dtype"] == "float32"}
    layers = ("relu1", "pool1", "relu2", "pool2", "relu3")
    assert seen == {(step, layer) for step in (0, 20, 100, 500) for layer in layers}


def test_every_word_width_is_there(listing):
    assert {t["dtype"] for t in listing["tensors"]} == {"float16", "float32", "float64", "int8"}


def test_copies_are_of_the_same_values(captured, listing):
    full = np.load(captured / "step0500.relu1.npy")
    half = np.load(captured / "step0500.relu1.float16.npy")
    np.testing.assert_array_equal(half, full.astype("f2"))
    (entry,) = (t for t in listing["tensors"] if t["file"] == "step0500.relu1.int8.npy")
    quantised = np.load(captured / entry["file"])
    assert quantised.max() == 127
    np.testing.assert_allclose(quantised * entry["scale"], full, atol=0.51 * entry["scale"])


def test_densities_are_those_of_real_networks(listing):
    density = {(t["step"], t["layer"]): t["density"] for t in listing["tensors"]}
    for step in (0, 20, 100, 500):
        assert density[step, "pool1"] > density[step, "relu1"]
        assert density[step, "pool2"] > density[step, "relu2"]
        assert 0.1 < density[step, "relu2"] < 0.7
    assert density[20, "relu2"] < density[0, "relu2"]


def test_pooling_is_of_the_layer_before(captured):
    relu = np.load(captured / "step0100.relu2.npy")
    pool = np.load(captured / "step0100.pool2.npy")
    images, channels, height, width = relu.shape
    squares = relu.reshape(images, channels, height // 2, 2, width // 2, 2)
    np.testing.assert_array_equal(pool, squares.max(axis=(3, 5)))


def test_a_few_mebibytes(captured):
    assert sum(path.stat().st_size for path in captured.iterdir()) < 3 << 20


def test_same_seed_same_files(tmp_path):
    pytest.importorskip("sklearn")
    runs = {}
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        argv = ["--steps", "0,5", "--seed", seed, "-o", str(tmp_path / name)]
        assert main(["capture", *argv]) == 0
        runs[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    assert runs["a"] == runs["b"]
    assert runs["a"].keys() == runs["c"].keys()
    assert runs["a"]["step0005.relu1.npy"] != runs["c"]["step0005.relu1.npy"]


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
    assert line == f"cdma capture: {tmp_path}/file: cannot create this folder (File exists)"


def test_without_scikit_learn(refuse, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.datasets", raising=False)
    line = refuse("capture", "-o", tmp_path / "out")
    assert line == "cdma capture needs scikit-learn: pip install 'cdma-engine[capture]'"
    assert not (tmp_path / "out").exists()
