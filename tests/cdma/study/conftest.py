"""Arrays that the tests of the study measure."""

import json

import numpy as np
import pytest

from cdma.study.algorithms.registry import installed
from cdma.study.analysis import analyze, plan


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


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """Folder of a listed network at three steps of training, made to obey the paper."""
    folder = tmp_path_factory.mktemp("network")
    densities = {0: (0.5, 0.5, 0.4, 0.4), 10: (0.45, 0.2, 0.1, 0.1), 20: (0.48, 0.25, 0.1, 0.15)}
    listed = []

    def save(step, layer, array, **more):
        name = f"step{step}.{layer}.npy"
        np.save(folder / name, array)
        entry = {"file": name, "layer": layer, "step": step, "layout": "NCHW", "images": ["all"]}
        listed.append({**entry, **more})

    for step, by_layer in densities.items():
        for number, density in enumerate(by_layer):
            size = 16 >> number // 2
            array = _relu(number, (4, 8, size, size), 1)
            # Zeros come in patches, as in the maps of real networks: runs are long in NCHW only.
            patches = (4, 8, size // 4, size // 4)
            order = np.random.default_rng(number).permutation(np.prod(patches)).reshape(patches)
            array *= np.kron(order < density * order.size, np.ones((4, 4), bool))
            save(step, f"relu{number}", array)
            if number % 2:
                pooled = array.reshape(4, 8, size // 2, 2, size // 2, 2).max(axis=(3, 5))
                pooled[:, ::3] += 1
                save(step, f"pool{number // 2}", pooled, kind="pool")
        save(step, "fc", _relu(9, (4, 100), by_layer[-1]), layout="NC", kind="fc+relu")
    (folder / "manifest.json").write_text(json.dumps({"name": "AlexNet-toy", "tensors": listed}))
    return folder


@pytest.fixture(scope="session")
def records(network):
    """What ``analyze`` gives for it; not to be changed."""
    names, _ = installed()
    tasks = plan([str(network)], algorithms=tuple(names))
    return [record for task in tasks for record in analyze(task.argument)]
