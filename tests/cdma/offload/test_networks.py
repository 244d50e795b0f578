"""Shapes, work and weights of the networks."""

import pytest

from cdma.errors import UserError
from cdma.offload.networks.zoo import NAMES, network

#: Weights of convolutions and dense layers in millions, without biases.
WEIGHTS = {
    "vgg-a": 132.85, "vgg-d": 138.34, "vgg-e": 143.65, "resnet50": 25.50, "mobilenetv2": 3.469,
    "squeezenet1.0": 1.244, "squeezenet1.1": 1.231, "alexnet": 61.09, "googlenet": 6.99,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_layers_read_layers_before_them(name):
    net = network(name)
    names = [layer.name for layer in net.layers]
    assert len(set(names)) == len(names)
    for i, layer in enumerate(net.layers):
        assert all(-1 <= x < i for x in layer.inputs)
        assert layer.in_shape == net.shape_of(layer.inputs[0])
        assert min(layer.shape) >= 1
    assert net.source
    assert net.features.layers


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name):
    found = sum(layer.weights for layer in network(name).layers) / 1e6
    assert found == pytest.approx(WEIGHTS[name], rel=0.002)


@pytest.mark.parametrize(
    ("name", "gmacs"), [("vgg-d", 15.47), ("vgg-e", 19.63), ("resnet50", 4.09)]
)
def test_work(name, gmacs):
    found = sum(layer.macs for layer in network(name).layers) / 1e9
    assert found == pytest.approx(gmacs, rel=0.005)


def test_unknown_name():
    with pytest.raises(UserError, match=r"must be one of alexnet.*not 'lenet'"):
        network("lenet")


@pytest.mark.parametrize(
    ("name", "log"), [("alexnet", "alexnet"), ("overfeat", "overfeat"), ("vgg-a", "vgg_a"),
                      ("googlenet", "googlenet")]
)  # fmt: skip
def test_shapes_of_the_published_logs(caffe_log, name, log):
    rows = caffe_log(log)
    kinds = {"Convolution": ("conv",), "Pooling": ("maxpool", "avgpool"), "InnerProduct": ("fc",)}
    for kind, ours in kinds.items():
        shapes = [row["top_shape"].split("x")[1:] for row in rows if row["type"] == kind]
        ours = [layer for layer in network(name).layers if layer.kind in ours]
        found = [list(map(str, layer.shape)) for layer in ours]
        found = [shape[:1] if kind == "InnerProduct" else shape for shape in found]
        assert shapes or (kind, name) == ("InnerProduct", "googlenet")  # it has no type there
        assert found[: len(shapes)] == shapes  # the log has no types of inception 5
