"""Arrays that the tests of the study measure."""

import numpy as np
import pytest


def _relu(seed, shape, density, dtype=np.float32):
    random = np.random.default_rng(seed)
    array = np.abs(random.normal(size=shape)) * 50 + 1
    array[random.random(shape) >= density] = 0
    return array.astype(dtype)


ARRAYS = {
    "empty": np.zeros(0, np.float32),
    "scalar": np.float32(3.5).reshape(()),
    "one zero": np.zeros(1, np.float32),
    "zeros": np.zeros(5000, np.float32),
    "ones": np.ones(5000, np.float32),
    "ends in zeros": np.array([1, 2] + [0] * 777, np.float32),
    "ends in values": np.array([0] * 777 + [1, 2], np.float32),
    "run of 32 zeros": np.array([0] * 32 + [1], np.float32),
    "run of 128": np.array([0] * 128 + [1] * 128 + [0] * 129 + [1] * 129, np.float32),
    "negative zero": np.array([-0.0, 0.0, 1.0], np.float32),
    "half": _relu(1, 70_001, 0.5),
    "sparse": _relu(2, (3, 5, 70, 71), 0.05),
    "float16": _relu(3, 40_003, 0.4, np.float16),
    "int8": _relu(4, 70_001, 0.3, np.int8),
    "float64": _relu(5, 20_001, 0.6, np.float64),
    "big endian": _relu(6, 20_001, 0.4).astype(">f4"),
}


@pytest.fixture(params=ARRAYS.values(), ids=ARRAYS.keys())
def array(request):
    """One array after another, each with a corner of its own."""
    return request.param
