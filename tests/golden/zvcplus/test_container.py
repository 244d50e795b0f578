"""Containers of ZVC+: round trips, parts of them, and every damage."""

import io
import re
import struct
import zlib

import ml_dtypes
import numpy as np
import pytest

from cdma.golden import (
    StreamError,
    read_container,
    read_header,
    read_range,
    write_container,
    zvcplus,
)
from cdma.zvcplus import ErrorCode, Format

FORMATS = [
    (np.float32, Format("fp32")),
    (np.float32, Format("fp32", "above", 30, 2)),
    (np.float16, Format("fp16", "left")),
    (ml_dtypes.bfloat16, Format("bf16", "above", 1)),
    (np.int8, Format("int8", "left")),
    (np.uint16, Format("bf16")),
]


def sparse(count, dtype=np.float32):
    array = np.random.default_rng(0).integers(1, 100, count).astype(dtype)
    array[::3] = 0
    array[5::6] = array[4::6][: len(array[5::6])]
    return array


def container(array, fmt, *args, **options) -> bytes:
    file = io.BytesIO()
    write_container(file, array, fmt, *args, **options)
    return file.getvalue()


@pytest.mark.parametrize(("dtype", "fmt"), FORMATS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 1), (40, 50)], ids=str)
def test_round_trip(dtype, fmt, shape):
    array = sparse(int(np.prod(shape)), dtype).reshape(shape)
    for chunk_blocks in (1, 5, 256):
        data = container(array, fmt, chunk_blocks)
        header = read_header(io.BytesIO(data))
        assert (header.version, header.codec, header.codec_name) == (2, 2, "zvcplus")
        assert header.format == fmt
        assert (header.nonzeros, header.density) == (None, None)
        back = read_container(io.BytesIO(data))
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert back.tobytes() == array.tobytes()


def test_parts():
    array = sparse(5000)
    file = io.BytesIO(container(array, Format("fp32", "left"), 4))
    for start, stop in [(0, 0), (0, 1), (127, 129), (1000, 4999), (4999, 5000)]:
        assert np.array_equal(read_range(file, start, stop), array[start:stop])


def test_a_chunk_is_a_stream_of_its_own():
    array, fmt = sparse(300), Format("fp32", "above", 9)
    data = container(array, fmt, 2)
    header = read_header(io.BytesIO(data))
    assert len(header.chunk_crcs) == 5
    first, last = header.header_bytes + header.chunk_offsets[2:4]
    assert data[first:last] == zvcplus.compress(array[128:192], fmt).tobytes()


def test_raw_chunks():
    array = np.random.default_rng(0).integers(0, 2**32, 640, np.uint32)
    array[320:] = 0
    data = container(array, Format(), 2, raw_chunks=True)
    assert read_header(io.BytesIO(data)).chunk_raw.tolist() == [True] * 5 + [False] * 5
    assert np.array_equal(read_container(io.BytesIO(data)), array)


@pytest.mark.parametrize("chunk_blocks", [1, 256])
def test_every_truncation_and_every_flipped_bit(chunk_blocks):
    data = container(sparse(2 * 32 + 7), Format("fp32", "left"), chunk_blocks)
    for length in range(len(data)):
        with pytest.raises(StreamError) as caught:
            read_container(io.BytesIO(data[:length]))
        assert caught.value.offset == length
    with pytest.raises(StreamError):
        read_container(io.BytesIO(data + b"\0"))
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(StreamError):
            read_container(io.BytesIO(flipped))


def test_an_error_in_a_chunk_has_its_offset_in_the_file():
    data = bytearray(container(np.ones(320, np.uint32), Format(), 5))
    header = read_header(io.BytesIO(bytes(data)))
    start = header.header_bytes + int(header.chunk_offsets[1])
    data[start] |= 3  # mode 3, ext 3
    data[start] |= 3 << 2
    data[start] &= ~(1 << 4)
    struct.pack_into("<I", data, 64 + 16 + 8 + 12 + 8, zlib.crc32(data[start:]))
    struct.pack_into(
        "<I", data, header.header_bytes - 4, zlib.crc32(data[: header.header_bytes - 4])
    )
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(bytes(data)))
    assert (caught.value.offset, caught.value.code) == (start, ErrorCode.RESERVED)
    reason = f"Bit 2: extension 3 is reserved of the chunk at byte {start}"
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (64, 4, "type must be one of 0, 1, 2, 3, not 4"),
        (65, 2, "repeats must be one of 0, 1, 3, not 2"),
        (66, 1, "reserved field must be 0, not 1"),
        (76, 1, "reserved field must be 0, not 1"),
        (68, 1, 'distance and min_beats are for repeats "above" only'),
        (72, 2, 'distance and min_beats are for repeats "above" only'),
        (12, 16, "word_bits of this type must be 32, not 16"),
        (16, 64, "block_words of this type must be 32, not 64"),
        (8, 1, "codec must be 0, zero-value, not 2"),
    ],
)
def test_fields_that_are_refused(offset, value, reason):
    data = bytearray(container(sparse(100), Format()))
    data[offset] = value
    checked = read_header(io.BytesIO(container(sparse(100), Format()))).header_bytes - 4
    struct.pack_into("<I", data, checked, zlib.crc32(data[:checked]))
    with pytest.raises(StreamError, match=re.escape(reason)) as caught:
        read_header(io.BytesIO(bytes(data)))
    assert caught.value.offset == (14 if offset == 8 else offset)


def test_refused_on_write():
    with pytest.raises(ValueError, match="Element size must be 2 bytes"):
        container(sparse(9), Format("fp16"))


def test_min_beats_of_no_beat_is_refused_where_it_is():
    data = bytearray(container(sparse(100), Format("fp32", "above", 8)))
    data[72:76] = bytes(4)
    checked = 64 + 16 + 8 + 12
    struct.pack_into("<I", data, checked, zlib.crc32(data[:checked]))
    with pytest.raises(StreamError, match=r"^Byte 72: min_beats must be in 1..4294967295, not 0"):
        read_header(io.BytesIO(bytes(data)))
