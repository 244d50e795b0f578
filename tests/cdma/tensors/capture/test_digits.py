"""Activations of the built-in network: training that learns, and its tensors."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")
from cdma.errors import UserError
from cdma.tensors.capture import digits


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Folder of one run."""
    folder = tmp_path_factory.mktemp("capture") / "activations"
    digits.run(folder, (0, 20, 100, 500), 0)
    return folder


@pytest.fixture(scope="module")
def listing(captured):
    return json.loads((captured / "capture.json").read_text())


def test_the_network_learns(listing):
    accuracies = [stage["test_accuracy"] for stage in listing["stages"]]
    assert accuracies == sorted(accuracies)
    assert accuracies[0] < 0.3
    assert accuracies[-1] > 0.9


def test_the_listing_describes_the_files(captured, listing):
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
    runs = {}
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        digits.run(tmp_path / name, (0, 5), seed)
        runs[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    assert runs["a"] == runs["b"]
    assert runs["a"].keys() == runs["c"].keys()
    assert runs["a"]["step0005.relu1.npy"] != runs["c"]["step0005.relu1.npy"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_earlier_capture_is_replaced(tmp_path):
    digits.run(tmp_path / "twice", (0, 2), 0)
    np.save(tmp_path / "twice" / "own.npy", np.ones(3))
    digits.run(tmp_path / "twice", (0,), 1)
    digits.run(tmp_path / "once", (0,), 1)
    (tmp_path / "twice" / "own.npy").unlink()  # no capture wrote it
    assert contents(tmp_path / "twice") == contents(tmp_path / "once")


def test_a_capture_that_fails_leaves_the_earlier_one(tmp_path, monkeypatch):
    digits.run(tmp_path, (0, 2), 0)
    earlier = contents(tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(digits, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        digits.run(tmp_path, (0,), 1)
    assert contents(tmp_path) == earlier


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"function": "mine.py:train", "tensors": [{"file": "step0000.relu1.npy"}]}',
        '{"dataset": "scikit-learn digits, 8 x 8 pixels", "tensors": [{"file": "../a.npy"}]}',
    ],
)
def test_another_capture_is_refused_and_stays(tmp_path, text):
    (tmp_path / "capture.json").write_text(text)
    (tmp_path / "step0000.relu1.npy").touch()
    earlier = contents(tmp_path)
    with pytest.raises(UserError, match=r"capture.json: is of another capture, expected a folder"):
        digits.run(tmp_path, (0,), 1)
    assert contents(tmp_path) == earlier
