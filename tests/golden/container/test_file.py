import io
import re
import struct
import sys
import zlib

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden import (
    ErrorCode,
    Format,
    StreamError,
    compress,
    read_container,
    read_header,
    read_range,
    write_container,
)

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", ml_dtypes.bfloat16),
]


class CountingFile(io.BytesIO):
    """Counts the bytes read from it."""

    taken = 0

    def read(self, size=-1):
        data = super().read(size)
        self.taken += len(data)
        return data


def container(array, *args, **options) -> bytes:
    file = io.BytesIO()
    write_container(file, array, *args, **options)
    return file.getvalue()


def sparse(count, dtype=np.float32):
    array = np.random.default_rng(0).integers(1, 100, count).astype(dtype)
    array[::3] = 0
    return array


def forge_stream(data: bytes, offset: int, replacement: bytes) -> bytes:
    """The container with other bytes in its stream, and CRCs that match again."""
    header = read_header(io.BytesIO(data))
    at = header.header_bytes + offset
    forged = bytearray(data)
    forged[at : at + len(replacement)] = replacement
    index = 64 + 8 * len(header.shape)
    stream = forged[header.header_bytes :]
    for chunk in range(len(header.chunk_crcs)):
        part = stream[header.chunk_offsets[chunk] : header.chunk_offsets[chunk + 1]]
        struct.pack_into("<I", forged, index + 12 * chunk + 8, zlib.crc32(part))
    checked = header.header_bytes - 4
    struct.pack_into("<I", forged, checked, zlib.crc32(forged[:checked]))
    return bytes(forged)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (4, 0, 2), (1,), (3, 5, 7), (40, 50)], ids=str)
def test_round_trip(dtype, shape):
    array = sparse(int(np.prod(shape)), dtype).reshape(shape)
    for chunk_blocks in (1, 5, 256):
        back = read_container(io.BytesIO(container(array, chunk_blocks=chunk_blocks)))
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tobytes() == array.tobytes()


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([Format(8), Format(8, 8), Format(16), Format(32, 96), Format(64)]),
    st.integers(0, 700),
    st.integers(1, 9),
    st.floats(0, 1),
    st.data(),
)
def test_any_size_any_chunk_any_range(fmt, count, chunk_blocks, density, data):
    random = np.random.default_rng(count)
    array = random.integers(1, 256, count).astype(fmt.dtype)
    array[random.random(count) >= density] = 0
    file = io.BytesIO(container(array, fmt, chunk_blocks))
    back = read_container(file)
    assert np.array_equal(back, array)
    start = data.draw(st.integers(0, count))
    stop = data.draw(st.integers(start, count))
    assert np.array_equal(read_range(file, start, stop), array[start:stop])


@pytest.mark.parametrize("group", [1, 1 << 12, 1 << 22])
@pytest.mark.parametrize("chunk_blocks", [1, 16, 256, 100_000])
def test_many_groups_of_chunks(group, chunk_blocks, monkeypatch):
    monkeypatch.setattr("cdma.golden.container.file._GROUP_WORDS", group)
    array = sparse(30_001)
    file = io.BytesIO(container(array, chunk_blocks=chunk_blocks))
    assert np.array_equal(read_container(file), array)
    assert np.array_equal(read_range(file, 10_000, 30_001), array[10_000:])


def test_stream_inside_is_the_raw_stream():
    array = sparse(1000)
    data = container(array)
    assert data[read_header(io.BytesIO(data)).header_bytes :] == compress(array).tobytes()


def test_bits_survive():
    patterns = np.array([0, 0x80000000, 1, 0x7F800001, 0xFFC12345, 0x7F800000], np.uint32)
    back = read_container(io.BytesIO(container(patterns.view(np.float32))))
    assert back.view(np.uint32).tolist() == patterns.tolist()


def test_memory_and_byte_order_are_normalised():
    array = sparse(600).reshape(20, 30)
    data = container(array)
    assert container(np.asfortranarray(array)) == data
    assert container(array.astype(">f4")) == data
    assert read_container(io.BytesIO(data)).dtype == np.dtype("<f4")


def test_bfloat16_without_its_package(monkeypatch):
    array = sparse(100, ml_dtypes.bfloat16)
    data = container(array)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    back = read_container(io.BytesIO(data))
    assert back.dtype == np.uint16
    assert back.tobytes() == array.tobytes()
    assert read_header(io.BytesIO(data)).dtype == "bfloat16"


def test_paths(tmp_path):
    array = sparse(100)
    for path in (tmp_path / "a.zvc", str(tmp_path / "b.zvc")):
        write_container(path, array)
        assert np.array_equal(read_container(path), array)
        assert np.array_equal(read_range(path, 5, 50), array[5:50])
        assert read_header(path).words == 100
    with pytest.raises(FileNotFoundError):
        read_container(tmp_path / "none.zvc")


def test_range_reads_only_its_chunks():
    array = sparse(320_000)
    data = container(array, chunk_blocks=10)
    header = read_header(io.BytesIO(data))
    file = CountingFile(data)
    assert np.array_equal(read_range(file, 160_100, 160_200), array[160_100:160_200])
    assert file.taken <= header.header_bytes + 10 * 132
    damaged = bytearray(data)
    damaged[-1] ^= 1
    assert np.array_equal(read_range(io.BytesIO(damaged), 0, 1000), array[:1000])
    with pytest.raises(StreamError):
        read_range(io.BytesIO(damaged), 319_999, 320_000)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 101), (101, 101)])
def test_range_outside(start, stop):
    message = f"Range must lie in 0..100 and not run backwards, not {start}..{stop}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_range(io.BytesIO(container(sparse(100))), start, stop)


@pytest.mark.parametrize("chunk_blocks", [1, 256])
def test_every_truncation_and_extension(chunk_blocks):
    data = container(sparse(40 * 32 + 7), chunk_blocks=chunk_blocks)
    for length in range(len(data)):
        with pytest.raises(StreamError) as caught:
            read_container(io.BytesIO(data[:length]))
        assert (caught.value.offset, caught.value.code) == (length, ErrorCode.CONTAINER)
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(data + b"\0"))
    assert (caught.value.offset, caught.value.code) == (len(data), ErrorCode.CONTAINER)


@pytest.mark.parametrize("chunk_blocks", [1, 256])
def test_every_flipped_bit(chunk_blocks):
    array = sparse(17 * 32 + 7, np.uint8)
    data = container(array, chunk_blocks=chunk_blocks)
    header = read_header(io.BytesIO(data))
    bounds = header.header_bytes + header.chunk_offsets
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(StreamError) as caught:
            read_container(io.BytesIO(flipped))
        assert caught.value.code is ErrorCode.CONTAINER
        if bit // 8 >= header.header_bytes:
            assert caught.value.offset == bounds[bounds <= bit // 8][-1]


@pytest.mark.parametrize("chunk_blocks", [1, 7, 256])
@pytest.mark.parametrize("word", [0, 33, 1400])
def test_errors_in_the_stream_have_their_offset_in_the_file(chunk_blocks, word):
    """Chunks side by side and chunks alone: forged with CRCs that match."""
    array = np.ones(1500, np.float32)
    data = container(array, chunk_blocks=chunk_blocks)
    block = word // 32
    mask_at = 132 * block
    word_at = mask_at + 4 + 4 * (word % 32)
    start = read_header(io.BytesIO(data)).header_bytes

    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(forge_stream(data, word_at, bytes(4))))
    assert (caught.value.offset, caught.value.code) == (start + word_at, ErrorCode.ZERO_WORD)

    # A mask with one bit less leaves a word over, which is no mask that the rest agrees with.
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(forge_stream(data, mask_at, b"\xfe")))
    assert caught.value.offset >= start + mask_at
    assert caught.value.code in (
        ErrorCode.TRUNCATED,
        ErrorCode.TRAILING,
        ErrorCode.MASK_PAST_END,
        ErrorCode.ZERO_WORD,
    )


@pytest.mark.parametrize("blocks", [20, 3])
def test_framing_errors_in_a_chunk(blocks):
    """One block a chunk, so that what is wrong with a mask shows in its own chunk."""
    array = np.ones(32 * blocks + 3, np.float32)
    data = container(array, chunk_blocks=1)
    start = read_header(io.BytesIO(data)).header_bytes
    for offset, mask, expected, code in [
        (132, b"\xfe", 132 + 128, ErrorCode.TRAILING),
        (132 * blocks, b"\x17", 132 * blocks, ErrorCode.MASK_PAST_END),
        (132 * blocks, b"\x03", 132 * blocks + 12, ErrorCode.TRAILING),
    ]:
        with pytest.raises(StreamError) as caught:
            read_container(io.BytesIO(forge_stream(data, offset, mask)))
        assert (caught.value.offset, caught.value.code) == (start + expected, code)
    array[40] = 0
    data = container(array, chunk_blocks=1)
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(forge_stream(data, 132, b"\xff\xff\xff\xff")))
    assert (caught.value.offset, caught.value.code) == (start + 132, ErrorCode.TRUNCATED)
    needed, end = start + 2 * 132, start + 2 * 132 - 4
    assert caught.value.reason == (
        f"mask marks words that reach to byte {needed}, the stream ends at byte {end}"
    )


@pytest.mark.parametrize(
    ("array", "options", "error", "message"),
    [
        (np.array([None]), {}, TypeError, "Element type must be numeric, not 'object'"),
        (np.zeros(1, "i4,i4"), {}, TypeError, "Element type must be numeric, not "),
        (np.zeros(1, "c16"), {}, ValueError, "Element size must be 1, 2, 4 or 8 bytes, not 16"),
        (np.zeros(1, ml_dtypes.float8_e5m2), {}, TypeError, "Element type must be one of bool, "),
        (np.zeros(1, "f4"), {"fmt": Format(64)}, ValueError, "Element size must be 8 bytes to be"),
        (
            np.zeros(1, "f4"),
            {"chunk_blocks": 0},
            ValueError,
            "Chunk length must be in 1..2**32-1 blocks, not 0",
        ),
        (
            np.zeros(1, "f4"),
            {"chunk_blocks": 2.0},
            TypeError,
            "Chunk length must be an integer, not 2.0",
        ),
        (
            np.zeros(1, "f4"),
            {"fmt": Format(32, 2**32)},
            ValueError,
            "Block length must be below 2**32, not 4294967296",
        ),
    ],
)
def test_refused_on_write(array, options, error, message, tmp_path):
    path = tmp_path / "a.zvc"
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        write_container(path, array, **options)
    assert not path.exists()


def mixed(chunks, chunk_words, seed=0, dtype=np.float32):
    """Chunks that are dense or sparse by turns of random length."""
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 100, chunks * chunk_words).astype(dtype)
    sparse_chunk = np.repeat(rng.random(chunks) < 0.5, chunk_words)
    array[sparse_chunk & (rng.random(array.size) < 0.7)] = 0
    return array


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_raw_chunks_round_trip(dtype):
    fmt = Format(8 * np.dtype(dtype).itemsize)
    for chunk_blocks in (1, 3, 40):
        array = mixed(60, chunk_blocks * fmt.block_words, dtype=dtype)[:-1]
        data = container(array, chunk_blocks=chunk_blocks, raw_chunks=True)
        header = read_header(io.BytesIO(data))
        assert header.version == 2
        assert 0 < header.chunk_raw.sum() < 60
        assert (header.nonzeros, header.density) == (None, None)
        assert header.stream_bytes <= array.nbytes
        assert read_container(io.BytesIO(data)).tobytes() == array.tobytes()
        for start, stop in [(0, 1), (5, array.size), (array.size // 2, array.size // 2 + 700)]:
            part = read_range(io.BytesIO(data), start, min(stop, array.size))
            assert part.tobytes() == array[start : min(stop, array.size)].tobytes()


def test_without_a_chunk_that_grows_raw_chunks_change_nothing():
    array = sparse(5000)
    assert container(array, raw_chunks=True) == container(array)
    assert read_header(io.BytesIO(container(array))).version == 1
    empty = container(np.zeros(0, np.float32), raw_chunks=True)
    assert empty == container(np.zeros(0, np.float32))


def test_a_raw_chunk_is_its_words():
    array = np.arange(1, 65, dtype=np.uint32)
    data = container(array, chunk_blocks=1, raw_chunks=True)
    header = read_header(io.BytesIO(data))
    assert data[header.header_bytes :] == array.tobytes()
    assert data[64 + 8 + 7] == 0x80  # bit 63 of the first chunk's offset


def test_a_last_chunk_shorter_than_its_mask():
    array = np.ones(129, np.uint8)  # the mask of the last word's block has 16 bytes
    data = container(array, chunk_blocks=1, raw_chunks=True)
    assert read_header(io.BytesIO(data)).stream_bytes == 129
    assert read_container(io.BytesIO(data)).tobytes() == array.tobytes()


def test_a_damaged_raw_chunk_is_named():
    array = np.arange(1, 200, dtype=np.uint32)
    data = bytearray(container(array, chunk_blocks=1, raw_chunks=True))
    header = read_header(io.BytesIO(bytes(data)))
    data[header.header_bytes + 300] ^= 4
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(bytes(data)))
    assert caught.value.offset == header.header_bytes + 256
    assert caught.value.reason == "chunk 2 is damaged, its CRC does not match"


def test_version_1_has_no_raw_chunk():
    data = bytearray(container(np.arange(1, 65, dtype=np.uint32), chunk_blocks=1, raw_chunks=True))
    checked = read_header(io.BytesIO(bytes(data))).header_bytes - 4
    data[8] = 1
    struct.pack_into("<I", data, checked, zlib.crc32(data[:checked]))
    with pytest.raises(StreamError, match=r"index says|size of a stream"):
        read_container(io.BytesIO(bytes(data)))
