"""Containers of the lossy codec."""

import io
import struct
import zlib

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.golden import ErrorCode, StreamError, engine, read_container, read_header, read_range
from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import dequantise, quantise
from cdma.golden.lossy.file import write_lossy


def written(array, bound=0.01, **options) -> bytes:
    file = io.BytesIO()
    write_lossy(file, array, bound, **options)
    return file.getvalue()


def sample(words: int = 1000, dtype="f4") -> np.ndarray:
    """Half zeros, two outliers."""
    array = np.maximum(np.random.default_rng(0).standard_normal(words), 0).astype(dtype)
    array[[words // 3, words - 1]] = np.inf, np.nan
    return array


def refusal(data: bytes, read=read_container) -> StreamError:
    with pytest.raises(StreamError) as caught:
        read(io.BytesIO(data))
    return caught.value


def sealed(data: bytes) -> bytes:
    """With CRCs of outliers and header that match."""
    forged = bytearray(data)
    header_bytes, _, stream_bytes = struct.unpack_from("<3Q", data, 24)
    struct.pack_into("<I", forged, 80, zlib.crc32(forged[header_bytes + stream_bytes :]))
    struct.pack_into("<I", forged, header_bytes - 4, zlib.crc32(forged[: header_bytes - 4]))
    return bytes(forged)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (33,), (4, 5, 6), (70_000,)])
@pytest.mark.parametrize("q_bits", [8, 16, 32])
def test_round_trip(dtype, shape, q_bits):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    array = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    data = written(array, 0.01, q_bits=q_bits)
    read = read_container(io.BytesIO(data))
    np.testing.assert_array_equal(read, dequantise(quantise(array, 0.01, q_bits)), strict=True)
    assert (read.dtype, read.shape) == (array.dtype, shape)


def test_header():
    array = sample().reshape(10, 100)
    data = written(array)
    header = read_header(io.BytesIO(data))
    quantised = quantise(array, 0.01)
    assert (header.version, header.codec) == (2, 1)
    assert (header.dtype, header.shape, header.words) == ("float32", (10, 100), 1000)
    assert header.format.word_bits == 8 * quantised.q.itemsize == 8
    assert (header.lossy.step, header.lossy.outliers) == (0.02, 5)  # three of them are large
    assert header.raw_bytes == 4000
    assert header.outlier_bytes == 5 * 12
    assert header.file_bytes == len(data)
    assert header.ratio == 4000 / (len(data) - header.header_bytes)
    assert header.nonzeros == np.count_nonzero(dequantise(quantised))
    assert quantised.stored_bytes == header.stream_bytes + 60 + 12 * len(header.chunk_crcs)


def test_dense_chunks_are_raw():
    array = np.arange(1, 5001, dtype=np.float32) % 100 + 1
    header = read_header(io.BytesIO(written(array, 0.5)))
    assert (header.chunk_raw.all(), header.stream_bytes) == (True, 5000)


def test_parts():
    array = sample(100_000)
    file = io.BytesIO(written(array))
    whole = read_container(file)
    for start, stop in [(0, 0), (0, 1), (33_333, 33_334), (32_767, 70_001), (99_999, 100_000)]:
        part = read_range(file, start, stop)
        np.testing.assert_array_equal(part, whole[start:stop], strict=True)


def test_every_truncation_is_refused():
    data = written(sample(150))
    for length in range(len(data)):
        assert refusal(data[:length]).code is ErrorCode.CONTAINER
        assert refusal(data[:length], read_header).offset <= length


def test_every_flipped_byte_is_refused():
    data = written(sample(150))
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            assert 0 <= refusal(bytes(damaged)).offset <= len(data)


def test_more_bytes_are_refused():
    data = written(sample(150))
    assert refusal(data + b"\0").offset == len(data)


@pytest.mark.parametrize(
    ("at", "code", "value", "blamed", "message"),
    [
        (8, "H", 1, 14, "codec must be 0, zero-value, not 1"),
        (14, "H", 3, 14, "codec must be 0, zero-value, or 1, lossy, or 2, "),
        (12, "B", 64, 12, "numbers must have 8, 16 or 32 bits, not 64"),
        (48, "16s", b"int16", 48, "element type must be float16, bfloat16, float32, float64, not"),
        (64, "d", 0.0, 64, "step must be finite and above 0, not 0.0"),
        (64, "d", -1.0, 64, "step must be finite and above 0, not -1.0"),
        (64, "d", float("inf"), 64, "step must be finite and above 0, not inf"),
        (64, "d", float("nan"), 64, "step must be finite and above 0, not nan"),
        (72, "Q", 151, 72, "outliers must be 150 or fewer, not 151"),
        (72, "Q", 2**64 - 1, 72, "outliers must be 150 or fewer, not"),
        (84, "I", 1, 84, "reserved field must be 0, not 1"),
        (88, "Q", 151, 88, "shape must have 150 elements, not be (151,)"),
    ],
)
def test_fields_that_are_refused(at, code, value, blamed, message):
    data = bytearray(written(sample(150)))
    if at == 12:
        struct.pack_into("<I", data, 16, 64)
    struct.pack_into("<" + code, data, at, value)
    error = refusal(sealed(bytes(data)))
    assert error.offset == blamed
    assert error.reason.startswith(message)


def test_another_number_of_outliers():
    data = bytearray(written(sample(150)))
    struct.pack_into("<Q", data, 72, 3)
    assert refusal(sealed(bytes(data))).reason.startswith("file ends inside the outliers")
    struct.pack_into("<Q", data, 72, 1)
    assert refusal(sealed(bytes(data))).reason.startswith("container ends here, 12 more bytes")


@pytest.mark.parametrize("places", [(1, 1), (2, 1), (3, 150), (3, 2**64 - 1)])
def test_places_of_outliers_that_are_refused(places):
    data = bytearray(written(sample(150)))
    start = len(data) - 24
    struct.pack_into("<2Q", data, start, *places)
    error = refusal(sealed(bytes(data)))
    assert error.offset == start + 8
    assert error.reason.startswith("places of outliers must ascend below 150, not be")


def test_the_engine_refuses_it():
    config = EngineConfig(1, 8, 32, 4096)
    with pytest.raises(ValueError, match="of the lossy codec, which the engine does not have"):
        engine.read_zvc(io.BytesIO(written(sample())), config)


def test_nothing_is_written_when_refused(tmp_path):
    path = tmp_path / "a.zvc"
    with pytest.raises(ValueError, match="use lossless"):
        write_lossy(path, np.ones(3), 0)
    with pytest.raises(ValueError, match="standard deviation of 0"):
        write_lossy(path, np.ones(3), Bound("rel", 0.1))
    with pytest.raises(TypeError, match="Element type"):
        write_lossy(path, np.ones(3, int), 1)
    assert not path.exists()
