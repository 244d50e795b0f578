"""Ratios of tensors: those of the golden codec, byte for byte."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.golden.engine import offload
from cdma.offload.moves import Codec, Link, coded_move, measured_codec, raw_move
from cdma.offload.networks.zoo import network
from cdma.offload.profiles import Library, Profile, Uniform, dense, left_out, measure
from cdma.offload.tensors import tensors_of

CONFIG = EngineConfig()


def _tensor(count: int, density: float, seed: int = 0):
    random = np.random.default_rng(seed)
    values = random.standard_normal(count).astype(np.float32)
    return np.where(random.random(count) < density, values, 0).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60_000), st.floats(0, 1), st.sampled_from((4096, 65536)))
def test_bytes_are_those_of_the_golden_engine(count, density, window):
    array = _tensor(count, density)
    sent = offload(array, CONFIG, raw="auto")
    profile = measure(array, CONFIG, window)
    expected = len(sent.stream) + len(sent.index)
    assert profile.bytes(array.nbytes) == pytest.approx(expected, rel=1e-12)
    assert profile.weights.sum() == pytest.approx(1)


def test_bursts_of_dense_data_cost_more_than_the_total():
    half = np.concatenate([_tensor(65536, 1.0), np.zeros(65536, np.float32)])
    bursts, smooth = measure(half, CONFIG, 4096), measure(half, CONFIG, half.nbytes)
    assert bursts.fraction == pytest.approx(smooth.fraction)
    link, rate = 1 / 10, 1 / 12
    assert bursts.mean_of_max(link, rate) > 1.1 * smooth.mean_of_max(link, rate)


def test_an_empty_tensor():
    with pytest.raises(ValueError, match="empty tensor"):
        measure(np.zeros(0, np.float32), CONFIG, 4096)


def test_dense_data_is_sent_raw_with_an_index():
    assert dense(CONFIG).fraction == 1 + 8 / 4096
    image = tensors_of(network("alexnet").features, 1)[0]
    assert Uniform(2.6, CONFIG).of(image).ratio < 1
    assert Uniform(2.6, CONFIG, everything=True).of(image).ratio == pytest.approx(2.6)


@pytest.fixture
def folder(tmp_path):
    entries = []
    for step in (0, 10):
        for k, (layer, density) in enumerate((("relu1_1", 0.5), ("pool1", 0.7), ("relu2_1", 0.2))):
            density *= 1 if step else 0.1
            name = f"{layer}_{step}"
            np.save(tmp_path / f"{name}.npy", _tensor(4096, density, k))
            kind = "pool" if "pool" in layer else "conv+relu"
            entries.append({"file": f"{name}.npy", "network": "vgg-small", "layer": layer,
                            "kind": kind, "step": step})  # fmt: skip
    np.save(tmp_path / "other.npy", _tensor(4096, 1.0))
    entries.append({"file": "other.npy", "network": "nin-small", "layer": "relu1", "step": 10})
    (tmp_path / "manifest.json").write_text(json.dumps({"tensors": entries}))
    return tmp_path


@pytest.mark.parametrize("codec", ["zv", "rl", "zl"])
def test_tensors_of_a_folder(folder, codec):
    library = Library.read([str(folder)], CONFIG, 4096, codec, "vgg-d")
    by_name = {tensor.name: tensor for tensor in tensors_of(network("vgg-d").features, 1)}
    ratios = {name: library.of(tensor).ratio for name, tensor in by_name.items()}
    expected = {"conv1_1": 0.5, "pool1": 0.7, "conv5_3": 0.2}
    for name, density in expected.items():
        size = 4096 * density * 4
        assert 4096 * 4 / ratios[name] == pytest.approx(size, rel=0.3, abs=1300), name
    assert ratios["image"] <= 1


def test_without_a_family_all_networks_count(folder):
    library = Library.read([str(folder)], CONFIG, 4096, "zv", "resnet50")
    tensors = tensors_of(network("resnet50").features, 1)
    assert library.of(next(t for t in tensors if t.kind == "relu")).ratio >= 0.9


@pytest.mark.parametrize("kind", ["int32", "uint32", "int8", "float64"])
def test_other_types_than_float32_are_left_out(folder, kind):
    """Labels beside activations change no ratio."""
    named = {tensor.name: tensor for tensor in tensors_of(network("vgg-d").features, 1)}
    before = Library.read([str(folder)], CONFIG, 4096, "zv", "vgg-d")
    assert left_out([str(folder)], "vgg-d") == []
    np.save(folder / "labels.npy", np.arange(1, 4097).astype(kind))
    manifest = folder / "manifest.json"
    whole = json.loads(manifest.read_text())
    entry = {"file": "labels.npy", "network": "vgg-small", "layer": "conv5_3", "step": 10}
    manifest.write_text(json.dumps({"tensors": [*whole["tensors"], entry]}))
    after = Library.read([str(folder)], CONFIG, 4096, "zv", "vgg-d")
    assert {n: before.of(t).ratio for n, t in named.items()} == {
        n: after.of(t).ratio for n, t in named.items()
    }
    assert left_out([str(folder)], "vgg-d") == [
        f"{folder}/labels.npy: its elements are {kind}, expected float32"
    ]


def test_no_tensor_fits(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(4, np.float64))
    with pytest.raises(UserError, match="no float32 tensor in it"):
        Library.read([str(tmp_path)], CONFIG, 4096)


def test_moves():
    tensor = tensors_of(network("alexnet").features, 1)[1]
    link = Link(12e9, share=2, host=1e9)
    assert link.effective == 1e9
    assert raw_move(tensor, link).down == tensor.bytes / 1e9
    profile = Profile.uniform(4, "given")
    move = coded_move(tensor, profile, link, Codec(2e9, 8e9, latency=1.0))
    assert move.down == pytest.approx(1 + tensor.bytes / 2e9)
    assert move.up == pytest.approx(1 + tensor.bytes / 4e9)
    assert (move.limit, move.link) == ("codec", tensor.bytes / 4)


def test_the_link_is_full_when_the_engine_is_ratio_times_faster():
    tensor = tensors_of(network("alexnet").features, 1)[1]
    profile = Profile.uniform(2.6, "given")
    full = coded_move(tensor, profile, Link(10e9), Codec(26e9, 26e9))
    assert full.down == pytest.approx(full.link / 10e9)
    assert coded_move(tensor, profile, Link(10e9), Codec(25e9, 25e9)).down > full.down


def test_rates_of_the_projects_measurements():
    one, four = (measured_codec(EngineConfig(channels=count)) for count in (1, 4))
    assert four.down == pytest.approx(4 * one.down)
    assert 0 < four.latency < 1e-5
    assert math.isfinite(four.up)
    assert "measured in" in four.source


def test_no_measurements(tmp_path):
    with pytest.raises(UserError, match=r"cannot be read .* --codec"):
        measured_codec(CONFIG, tmp_path / "none.json")
    (tmp_path / "empty.json").write_text('{"records": []}')
    with pytest.raises(UserError, match="has no measurement of 8x32"):
        measured_codec(CONFIG, tmp_path / "empty.json")
