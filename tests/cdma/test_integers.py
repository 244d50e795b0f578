"""Integers of any type are taken, and nothing else."""

import json

import numpy as np
import pytest

from cdma import zvcplus
from cdma.engine_config import EngineConfig
from cdma.format import Format
from cdma.golden import read_container, write_container
from cdma.hdl.zvc.config import Config
from cdma.integers import integer


@pytest.mark.parametrize("kind", [int, np.int8, np.uint32, np.int64])
def test_integers_of_any_type(kind):
    number = integer("Size", kind(8))
    assert (number, type(number)) == (8, int)


@pytest.mark.parametrize("value", [True, np.bool_(True), 8.0, "8", None, np.arange(2)], ids=repr)
def test_nothing_else(value):
    with pytest.raises(TypeError, match=r"^Size must be an integer, not "):
        integer("Size", value)


def test_sizes_from_numpy_are_plain_numbers(tmp_path):
    size = np.int64
    assert json.dumps(vars(Format(size(16), size(32), zero_value=np.uint16(3))))
    assert json.dumps(vars(zvcplus.Format("fp32", "above", size(8), size(2))))
    assert json.dumps(vars(EngineConfig(channels=size(2), lanes=size(4), latency=size(9))))
    assert json.dumps(Config(size(8)).parameters)
    words = np.arange(100, dtype="<u4")
    write_container(tmp_path / "a.zvc", words, chunk_blocks=size(2))
    np.testing.assert_array_equal(read_container(tmp_path / "a.zvc"), words)
