"""The small network: its gradients are those of its outputs."""

import numpy as np
import pytest

from cdma.tensors.capture.network import Convolution, Dense, MaxPool, Network, ReLU


def layers():
    rng = np.random.default_rng(0)
    return {
        "convolution": (Convolution(rng, 2, 3), (2, 2, 4, 6)),
        "dense": (Dense(rng, 24, 5), (3, 2, 3, 4)),
        "relu": (ReLU(), (3, 7)),
        "pool": (MaxPool(), (2, 3, 4, 6)),
    }


@pytest.mark.parametrize("name", layers())
def test_gradient_by_differences(name):
    layer, shape = layers()[name]
    rng = np.random.default_rng(1)
    # No two values are near each other, nor one near zero, where ReLU and pooling have kinks.
    x = (rng.permutation(np.prod(shape)).reshape(shape) / 10 - 2.05).astype("f4")
    weights = rng.standard_normal(layer.forward(x).shape).astype("f4")
    gradient = layer.backward(weights)
    assert gradient.shape == x.shape
    step = 0.03
    for index in rng.integers(0, x.size, 20):
        moved = []
        for sign in (1, -1):
            near = x.copy()
            near.flat[index] += sign * step
            moved.append(np.sum(layer.forward(near).astype("f8") * weights))
        assert gradient.flat[index] == pytest.approx(
            (moved[0] - moved[1]) / (2 * step), rel=2e-3, abs=2e-3
        )


def test_convolution_by_hand():
    layer = Convolution(np.random.default_rng(0), 1, 1)
    layer.weight[:] = np.arange(9)[:, np.newaxis]
    layer.bias[:] = 1
    x = np.zeros((1, 1, 3, 4), "f4")
    x[0, 0, 1, 1] = 2
    expected = [[17, 15, 13, 1], [11, 9, 7, 1], [5, 3, 1, 1]]
    np.testing.assert_array_equal(layer.forward(x)[0, 0], expected)


def test_training_fits_a_small_batch():
    rng = np.random.default_rng(2)
    network = Network(rng, classes=3)
    images = rng.random((12, 1, 8, 8), dtype="f4")
    labels = np.arange(12) % 3
    for _ in range(60):
        network.train(images, labels)
    assert network.accuracy(images, labels) == 1


def test_activations_stay_float32():
    network = Network(np.random.default_rng(3), classes=10)
    outputs = network.activations(np.ones((2, 1, 8, 8), "f4"))
    assert {array.dtype.name for array in outputs.values()} == {"float32"}
    assert outputs["pool2"].shape == (2, 32, 2, 2)
