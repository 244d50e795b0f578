"""Which tensors move, and when they are needed."""

import pytest
from hypothesis import given, settings
from offload_drawn import networks

from cdma.offload.networks.graph import IMAGE, Builder, Network
from cdma.offload.networks.zoo import network
from cdma.offload.tensors import tensors_of


def _of(b: Builder, policy: str = "all"):
    net = Network("drawn", "drawn", b.image, tuple(b.layers), "a test")
    return {tensor.name: tensor for tensor in tensors_of(net, 1, policy)}


def test_a_chain():
    b = Builder((3, 8, 8))
    x = b.conv(IMAGE, "conv1", 4)
    x = b.pool(x, "pool1", 2, 2)
    b.conv(x, "conv2", 4)
    found = _of(b)
    assert list(found) == ["image", "conv1", "pool1"]
    image, conv1, pool1 = found.values()
    assert (image.slot, image.need, image.kind) == (0, 0, "image")
    assert (conv1.slot, conv1.need, conv1.last, conv1.kind) == (1, 1, 0, "relu")
    assert (pool1.slot, pool1.need, pool1.last, pool1.kind) == (2, 2, 1, "pool")
    assert conv1.bytes == 4 * 8 * 8 * 4
    assert list(_of(b, "conv")) == ["image", "pool1"]


def test_concat_is_one_storage():
    b = Builder((3, 8, 8))
    x = b.conv(IMAGE, "conv1", 4)
    x = b.join([b.conv(x, "a", 2, 1), b.conv(x, "b", 3, 3)], "cat", "concat")
    b.conv(x, "conv2", 4)
    found = _of(b)
    assert list(found) == ["image", "conv1", "cat"]
    assert found["cat"].bytes == 5 * 8 * 8 * 4
    assert found["cat"].kind == "relu"


def test_an_identity_shortcut_moves_after_its_last_consumer():
    b = Builder((3, 8, 8))
    x = b.conv(IMAGE, "conv1", 4)
    y = b.normed(x, "conv2", 4, relu=False)
    x = b.join([y, x], "add", "add", relu=True)
    b.conv(x, "conv3", 4)
    found = _of(b)
    assert (found["conv1"].slot, found["conv1"].need) == (3, 1)
    assert found["conv2"].kind == "dense"  # what batch normalisation reads
    assert "conv2/bn" not in found  # add needs none


def test_a_linear_output_is_dense():
    kinds = {tensor.name: tensor.kind for tensor in tensors_of(network("mobilenetv2"), 1)}
    assert kinds["block2/project/bn"] == "dense"
    assert kinds["block2/expand/bn"] == "relu"


def test_squared_relu_keeps_both():
    names = {tensor.name: tensor.kind for tensor in tensors_of(network("ffn"), 1)}
    assert names["block1/up"] == names["block1/square"] == "relu"
    assert names["block1/add"] == "dense"


def test_dropout_keeps_a_byte_an_element():
    (mask,) = [t for t in tensors_of(network("nin").features, 2) if t.kind == "mask"]
    assert mask.bytes == 2 * 384 * 6 * 6
    assert not mask.is_sparse


@settings(max_examples=25, deadline=None)
@given(networks())
def test_each_storage_moves_once(net):
    found = tensors_of(net, 2)
    assert len({tensor.name for tensor in found}) == len(found)
    for tensor in found:
        assert tensor.last <= tensor.need <= tensor.slot < len(net.layers)
        assert tensor.producer < tensor.slot
    conv = {tensor.name for tensor in tensors_of(net, 2, "conv")}
    assert conv <= {tensor.name for tensor in found}


def test_policy():
    with pytest.raises(ValueError, match="Policy must be all or conv, not 'none'"):
        tensors_of(network("alexnet"), 1, "none")
