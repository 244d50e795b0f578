"""Codecs that are compared: each gives back an array within the bound."""

import numpy as np
import pytest

from cdma.offload.lossy.codecs import CODECS, entropy_bytes


@pytest.fixture(scope="module")
def array():
    random = np.random.default_rng(0)
    return np.maximum(random.standard_normal((2, 8, 16, 16)), 0).astype(np.float32)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_bound_holds(codec, array):
    if not codec.is_there:
        pytest.skip(f"{codec.package} is not installed")
    size, back = codec.run(array, 0.05)
    assert 0 < size < array.nbytes
    assert back.shape == array.shape
    error = np.abs(array.astype(float) - back).max()
    assert error <= 0.05
    assert (error == 0) != codec.is_lossy


def test_entropy():
    # Four numbers, equally often: two bits each.
    array = np.repeat(np.arange(4, dtype=np.float32), 100)
    assert entropy_bytes(array, 0.1) == 100
    assert entropy_bytes(np.zeros(64, np.float32), 0.1) == 0
