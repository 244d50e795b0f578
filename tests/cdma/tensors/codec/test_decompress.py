"""Arrays of bare streams."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import StreamError, compress
from cdma.tensors.codec.decompress import read_raw

ARRAY = np.arange(105, dtype="f4").reshape(15, 7)


@pytest.fixture
def stream(tmp_path):
    """File with the stream of ``ARRAY``."""
    compress(ARRAY).tofile(tmp_path / "a.bin")
    return str(tmp_path / "a.bin")


@pytest.mark.parametrize(
    ("described", "dtype", "shape"),
    [
        ({"count": 105}, "uint32", (105,)),
        ({"shape": (15, 7)}, "uint32", (15, 7)),
        ({"count": 105, "shape": (7, 15), "dtype": "float32"}, "float32", (7, 15)),
    ],
)
def test_type_and_shape_are_as_described(stream, described, dtype, shape):
    array, name = read_raw(stream, "a.bin", **described)
    assert name == dtype
    np.testing.assert_array_equal(array, ARRAY.view(dtype).reshape(shape), strict=True)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({}, "a.bin: a raw stream needs --count or --shape"),
        ({"count": -1}, "--count must be zero or more, not -1"),
        ({"count": 5, "shape": (2, 3)}, "--shape 2x3 has 6 words, --count is 5"),
        ({"count": 105, "dtype": "f16"}, "--dtype must be a NumPy type of 1, 2, 4 or 8 bytes"),
        (
            {"count": 105, "dtype": "float16", "word_bits": 32},
            "--dtype float16 does not have the 32 bits of a word",
        ),
        ({"count": 105, "word_bits": 12}, "Word width must be 8, 16, 32 or 64 bits, not 12"),
    ],
)
def test_refuses_what_does_not_fit(stream, described, message):
    with pytest.raises(UserError) as refused:
        read_raw(stream, "a.bin", **described)
    assert str(refused.value).startswith(message)


def test_another_count_is_no_such_stream(stream):
    with pytest.raises(StreamError):
        read_raw(stream, "a.bin", count=104)
