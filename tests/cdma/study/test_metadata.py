"""Metadata from the lists in the folders of tensors."""

import json
from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.study.metadata import Metadata, find, read_folder


def listed(folder, whole, name="manifest.json"):
    (folder / name).write_text(whole if isinstance(whole, str) else json.dumps(whole))
    return read_folder(folder)


def test_all_metadata(tmp_path):
    entry = {
        "file": "a.npz",
        "key": "x",
        "network": "vgg",
        "layer": "relu1 (first 8 channels)",
        "kind": "conv+relu",
        "layout": "NHWC",
        "step": 20,
        "format": "bf16",
        "images": ["a", "b"],
        "mode": "inference",
        "of no use here": None,
    }
    found = listed(tmp_path, {"tensors": [entry], "weights_licences": {"vgg": "trained here"}})
    assert find(found, Path("a.npz"), "x") == Metadata(
        network="vgg",
        layer="relu1",
        is_part=True,
        kind="conv+relu",
        layout="NHWC",
        step=20.0,
        stage="step 20",
        format="bf16",
        images=("a", "b"),
        mode="inference",
        about="trained here",
        listed_in="manifest.json",
    )


def test_all_but_the_file_may_be_missing(tmp_path):
    found = listed(tmp_path, {"tensors": [{"file": "a.npy"}, {"file": "b.npz", "key": "k"}]})
    given = {"network": tmp_path.name, "listed_in": "manifest.json"}
    assert find(found, Path("a.npy"), None) == Metadata(layer="a", **given)
    assert find(found, Path("b.npz"), "k") == Metadata(layer="k", position=1, **given)


def test_an_entry_without_a_key_is_of_the_whole_file(tmp_path):
    found = listed(tmp_path, {"tensors": [{"file": "a.npz", "layer": "relu1"}]})
    assert find(found, Path("a.npz"), "arr_0").layer == "relu1"


def test_a_tensor_without_an_entry(tmp_path):
    found = read_folder(tmp_path)
    assert find(found, tmp_path / "a.npy", None) == Metadata(tmp_path.name, "a")
    assert find(found, tmp_path / "a.npz", "k") == Metadata("a", "k")


@pytest.mark.parametrize(
    ("entry", "step", "stage"),
    [
        ({"stage": "train_040%"}, 40.0, "train_040%"),
        ({"stage": "epoch 2.5"}, 2.5, "epoch 2.5"),
        ({"stage": "pretrained"}, None, "pretrained"),
        ({"stage": "epoch 3", "step": 700}, 700.0, "epoch 3"),
        ({}, None, ""),
    ],
)
def test_steps(tmp_path, entry, step, stage):
    found = listed(tmp_path, {"tensors": [{"file": "a.npy", **entry}]})
    metadata = find(found, Path("a.npy"), None)
    assert (metadata.step, metadata.stage) == (step, stage)


@pytest.mark.parametrize(
    ("layer", "kind", "is_pool"),
    [("pool1", "", True), ("relu1", "", False), ("x", "max pool", True), ("pool1", "lrn", False)],
)
def test_pooling_is_known_by_kind_or_else_by_name(layer, kind, is_pool):
    assert Metadata("n", layer, kind=kind).is_pool is is_pool


def test_both_lists_are_read(tmp_path):
    listed(tmp_path, {"tensors": [{"file": "a.npy", "layer": "one"}]})
    both = listed(tmp_path, {"tensors": [{"file": "b.npy", "layer": "two"}]}, "capture.json")
    assert [metadata.layer for metadata in both.values()] == ["one", "two"]


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"tensors": [{}]}', '{"tensors": [{"file": "a", "step": "x"}]}']
)
def test_refuses_another_kind_of_list(tmp_path, text):
    with pytest.raises(UserError, match=r"manifest.json: expected a list of tensors, each with a"):
        listed(tmp_path, text)


def test_a_file_of_the_folder_may_have_a_path(tmp_path):
    names = ("./a.npy", f"{tmp_path}/b.npy", f"../{tmp_path.name}/c.npy")
    found = listed(tmp_path, {"tensors": [{"file": name, "layer": "relu"} for name in names]})
    assert list(found) == [("a.npy", None), ("b.npy", None), ("c.npy", None)]


@pytest.mark.parametrize("file", ["below/a.npy", "../a.npy", ".", ""])
def test_refuses_a_file_elsewhere(tmp_path, file):
    with pytest.raises(UserError, match=r"manifest.json: .* is no file of this folder\)$"):
        listed(tmp_path, {"tensors": [{"file": file}]})


@pytest.mark.parametrize("step", ["NaN", "Infinity", "-1e999", '"nan"'])
def test_refuses_a_step_that_is_no_number(tmp_path, step):
    message = r"manifest.json: .* step of a.npy must be a finite number, not (nan|-?inf)\)$"
    with pytest.raises(UserError, match=message):
        listed(tmp_path, f'{{"tensors": [{{"file": "a.npy", "step": {step}}}]}}')
