"""Pooling layers are compared with what they pool, and with nothing else."""

import numpy as np
import pytest

from cdma.study.pooling import pairs


def changed(records, layer, **fields):
    return [{**r, **fields} if r["layer"] == layer else r for r in records]


def test_every_pooling_layer_at_every_step(records, network):
    found = pairs(records)
    assert {(pair.step, pair.before, pair.pool) for pair in found} == {
        (step, before, pool)
        for step in (0, 10, 20)
        for before, pool in (("relu1", "pool0"), ("relu3", "pool1"))
    }
    pair = next(pair for pair in found if (pair.step, pair.pool) == (20, "pool0"))
    for density, layer in ((pair.density_before, "relu1"), (pair.density, "pool0")):
        array = np.load(network / f"step20.{layer}.npy")
        assert density == np.count_nonzero(array) / array.size


def test_images_that_both_have(records, network, tmp_path):
    pooled = np.load(network / "step0.pool0.npy")[:3]
    pooled[2] = 0
    file = tmp_path / "pool0.npy"
    np.save(file, pooled)
    part = [
        {**r, "shape": [3, 8, 8, 8], "tensor": str(file)}
        if (r["layer"], r["step"]) == ("pool0", 0)
        else r
        for r in records
    ]
    pair = next(pair for pair in pairs(part) if (pair.step, pair.pool) == (0, "pool0"))
    before = np.load(network / "step0.relu1.npy")[:3]
    assert pair.density_before == np.count_nonzero(before) / before.size
    assert pair.density == np.count_nonzero(pooled) / pooled.size


@pytest.mark.parametrize(
    "fields",
    [
        {"images": ("others",)},
        {"network": "other"},
        {"step": 5},
        {"format": "int8"},
        {"axes": "NHWC"},
        {"shape": [4, 9, 8, 8]},  # another number of channels
        {"shape": [4, 8, 16, 16]},  # a map that does not shrink
    ],
)
def test_layers_that_do_not_belong_together(records, fields):
    found = pairs(changed(records, "pool0", **fields))
    assert {pair.pool for pair in found} == {"pool1"}


def test_parts_may_have_other_channels(records):
    part = changed(records, "pool0", shape=[4, 9, 8, 8], is_part=True)
    assert {pair.pool for pair in pairs(part)} == {"pool0", "pool1"}
