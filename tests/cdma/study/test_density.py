"""Densities by layer and step."""

import numpy as np

from cdma.study.density import layers_of, steps_of


def test_layers_of_a_network_in_their_order(records, network):
    (name,) = layers_of(records)
    layers = layers_of(records)[name]
    assert name == "AlexNet-toy"
    names = ["relu0", "relu1", "pool0", "relu2", "relu3", "pool1", "fc"]
    assert [layer.name for layer in layers] == names
    assert [layer.is_pool for layer in layers] == [False, False, True, False, False, True, False]
    assert [layer.has_map for layer in layers] == [True] * 6 + [False]
    assert steps_of(layers) == [0, 10, 20]
    array = np.load(network / "step20.relu2.npy")
    assert layers[3].last == layers[3].densities[20] == np.count_nonzero(array) / array.size


def test_a_series_is_of_one_shape(records):
    """A larger tensor at one step only does not come between the others."""
    odd = next(r for r in records if r["layer"] == "relu0" and r["step"] == 10)
    larger = {**odd, "tensor": "larger", "shape": [64, 8, 16, 16], "nonzeros": 0}
    larger["words"] *= 16
    (with_it,) = layers_of([*records, larger]).values()
    (without,) = layers_of(records).values()
    assert with_it == without


def test_tensors_of_one_shape_and_step_are_taken_together(records):
    first = next(r for r in records if r["layer"] == "relu0" and r["step"] == 0)
    other = {**first, "tensor": "other", "nonzeros": first["words"]}
    (layers,) = layers_of([first, other]).values()
    assert layers[0].densities == {0: (first["density"] + 1) / 2}


def test_without_steps(records):
    unknown = [{**record, "step": None} for record in records if record["step"] == 20]
    (layers,) = layers_of(unknown).values()
    assert steps_of(layers) == []
    assert layers[0].last == layers[0].densities[None]
