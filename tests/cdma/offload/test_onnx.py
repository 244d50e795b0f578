"""Shape tables against the models that onnx's wheel ships, and errors of the reader."""

from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.offload.compute import BOARDS, times_of
from cdma.offload.networks.zoo import network
from cdma.offload.tensors import tensors_of

onnx = pytest.importorskip("onnx")
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _light(name: str):
    path = LIGHT / f"light_{name}.onnx"
    if not path.is_file():
        pytest.skip(f"this onnx does not ship {path.name}")
    return network(str(path))


@pytest.mark.parametrize(
    ("light", "ours"),
    [("vgg19", "vgg-e"), ("inception_v1", "googlenet"), ("resnet50", "resnet50")],
)
def test_convolutions_are_those_of_the_model(light, ours):
    tables = []
    for net in (_light(light), network(ours)):
        convolutions = (layer for layer in net.layers if layer.kind == "conv")
        tables.append(sorted((c.shape, c.kernel, c.weights) for c in convolutions))
    if light != "vgg19":
        # The shipped ResNet has the stride in the first 1x1 of a block, Inception rounds a pool's
        # size down; the sizes of our GoogLeNet are compared with the published log.
        tables = [sorted((kernel, weights) for _, kernel, weights in table) for table in tables]
    assert tables[0] == tables[1]


def test_channels_of_squeezenet():
    found = [
        [layer.shape[0] for layer in net.layers if layer.kind == "conv"]
        for net in (_light("squeezenet"), network("squeezenet1.1"))
    ]
    assert found[0] == found[1]


def test_tensors_of_a_model_are_those_of_the_table():
    sizes = [
        sorted(tensor.bytes for tensor in tensors_of(net.features, 4) if tensor.kind != "mask")
        for net in (_light("vgg19"), network("vgg-e"))
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", ["bvlc_alexnet", "densenet121", "zfnet512"])
def test_other_models_are_read(name):
    net = _light(name)
    assert len(tensors_of(net.features, 1)) > 5
    assert times_of(net.features, 1, BOARDS["titan-x"]).total > 0


def test_an_unknown_operator():
    with pytest.raises(UserError, match=r"operator Transpose .* is not known"):
        _light("shufflenet")


def test_what_is_no_model(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"no model")
    with pytest.raises(UserError, match="cannot read this ONNX model"):
        network(str(tmp_path / "a.onnx"))
