"""Containers into the files of an engine, and back."""

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.golden import engine, read_container, write_container
from cdma.tensors.codec import convert

SHAPE = (50, 100)


@pytest.fixture
def files(tmp_path):
    """Paths of a container, of a stream and of an index; the container is there."""
    array = np.maximum(np.random.default_rng(1).standard_normal(SHAPE), 0).astype("f4")
    write_container(tmp_path / "a.zvc", array)
    return [str(tmp_path / name) for name in ("a.zvc", "a.bin", "a.idx")]


def test_there_and_back(files, tmp_path):
    container, stream, index = files
    array = read_container(container)
    there = convert.to_streams(container, stream, index)
    sent = engine.offload(array, EngineConfig(), raw="never", crc=True)
    assert (tmp_path / "a.bin").read_bytes() == sent.stream.tobytes()
    assert there == {
        "wrote": [stream, index],
        "dtype": "float32",
        "shape": [50, 100],
        "stripes": 5,
        "raw_stripes": 0,
        "stream_bytes": sent.stream.size,
    }
    back = convert.to_container(stream, index, f"{container}.zvc", "float32", SHAPE)
    assert back == {**there, "wrote": [f"{container}.zvc"]}
    np.testing.assert_array_equal(read_container(f"{container}.zvc"), array, strict=True)


def test_an_index_of_another_tensor(files, tmp_path):
    container, stream, index = files
    convert.to_streams(container, stream, index, stripe_bytes=1024)
    with pytest.raises(UserError, match=r"a\.idx: expected 40 bytes of index, not 160$"):
        convert.to_container(stream, index, f"{container}.zvc", "float32", SHAPE)
    assert not (tmp_path / "a.zvc.zvc").exists()
