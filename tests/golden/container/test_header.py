import io
import re
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from cdma import golden
from cdma.golden import ErrorCode, StreamError, read_container, read_header, write_container
from cdma.golden.container.header import header_size, pack_header

#: Offset and struct code of each field, as docs/format.md has them.
FIELDS = {
    "magic": (0, "8s"),
    "version": (8, "H"),
    "flags": (10, "H"),
    "word_bits": (12, "B"),
    "ndim": (13, "B"),
    "codec": (14, "H"),
    "block_words": (16, "I"),
    "chunk_blocks": (20, "I"),
    "header_bytes": (24, "Q"),
    "words": (32, "Q"),
    "stream_bytes": (40, "Q"),
    "dtype": (48, "16s"),
}
EXAMPLE = np.array([0, 1] + [0] * 30 + [-0.0], np.float32)
DOCUMENT = Path(golden.__file__).parents[1] / "docs" / "format.md"


def container(array=EXAMPLE, **options) -> bytes:
    file = io.BytesIO()
    write_container(file, array, **options)
    return file.getvalue()


def forge(data: bytes, offset: int, code: str, value) -> bytes:
    """The container with one number replaced, and a CRC that matches again."""
    forged = bytearray(data)
    (header_bytes,) = struct.unpack_from("<Q", data, 24)
    struct.pack_into("<" + code, forged, offset, value)
    struct.pack_into("<I", forged, header_bytes - 4, zlib.crc32(forged[: header_bytes - 4]))
    return bytes(forged)


def refused(data: bytes, read=read_header) -> StreamError:
    with pytest.raises(StreamError) as caught:
        read(io.BytesIO(data))
    assert caught.value.code is ErrorCode.CONTAINER
    return caught.value


def test_fields():
    array = np.arange(1000, dtype=np.int16).reshape(10, 100)
    array[::2] = 0
    data = container(array, chunk_blocks=4)
    header = read_header(io.BytesIO(data))
    assert header.version == 1
    assert header.format == golden.Format(16)
    assert (header.dtype, header.shape, header.words) == ("int16", (10, 100), 1000)
    assert (header.chunk_blocks, header.chunk_words) == (4, 256)
    assert header.nonzeros == 500
    assert header.density == 0.5
    assert header.raw_bytes == 2000
    assert header.stream_bytes == 128 + 1000
    assert header.ratio == 2000 / 1128
    assert header.header_bytes == len(data) - header.stream_bytes == header_size(2, 4)
    assert header.file_bytes == len(data)
    assert header.chunk_offsets.shape == (5,)
    assert header.chunk_offsets[-1] == header.stream_bytes
    assert pack_header(header) == data[: header.header_bytes]


def test_empty_array():
    header = read_header(io.BytesIO(container(np.empty((0, 7), np.uint8))))
    assert (header.shape, header.words, header.stream_bytes) == ((0, 7), 0, 0)
    assert (header.density, header.ratio, len(header.chunk_crcs)) == (0.0, 1.0, 0)


@pytest.mark.skipif(not DOCUMENT.exists(), reason="installed without docs/")
def test_document_has_the_same_layout_and_example():
    text = DOCUMENT.read_text()
    rows = re.findall(r"^\| (\d+) \| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    expected = [
        (str(offset), str(struct.calcsize("<" + code)), name)
        for name, (offset, code) in FIELDS.items()
    ]
    assert rows == expected
    dump = re.findall(r"^00[0-9a-f]0  ([0-9a-f ]+)$", text, re.MULTILINE)
    assert bytes.fromhex("".join(dump)) == container()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 3, "version must be 1 or 2, not 3"),
        ("flags", 8, "flags must be a sum of 1, 2 and 4, or 0, not 8"),
        ("flags", 0x8001, "flags must be a sum of 1, 2 and 4, or 0, not 32769"),
        ("codec", 1, "codec must be 0, zero-value, not 1"),
        ("word_bits", 24, "Word width must be 8, 16, 32 or 64 bits, not 24"),
        ("word_bits", 16, "element type must be known and of 2 bytes, not b'float32"),
        ("block_words", 0, "Block length must be a positive multiple of the word width 32, not 0"),
        ("block_words", 33, "Block length must be a positive multiple of the word width 32, not"),
        ("chunk_blocks", 0, "chunk must have a block or more, not 0"),
        ("ndim", 33, "array must have at most 32 dimensions, not 33"),
        ("dtype", b"float33", "element type must be known and of 4 bytes, not b'float33"),
        ("dtype", b"float64", "element type must be known and of 4 bytes, not b'float64"),
        ("dtype", b"float32\0x", "element type must be known and of 4 bytes, not b'float32"),
        ("dtype", b"\xff", "element type must be known and of 4 bytes, not b'\\xff"),
        ("dtype", b"O", "element type must be known and of 4 bytes, not b'O"),
    ],
)
def test_unknown_values_are_refused_by_name(field, value, message):
    offset, code = FIELDS[field]
    error = refused(forge(container(), offset, code, value))
    # The type is judged once the word width is known, so its field is the one named.
    assert error.offset == FIELDS["dtype"][0] if "element type" in message else offset
    assert error.reason.startswith(message)


@pytest.mark.parametrize(
    ("field", "value", "blamed"),
    [
        ("header_bytes", 0, "header_bytes"),
        ("header_bytes", 71, "header_bytes"),
        ("words", 32, None),  # the stream could hold so many, the shape says otherwise
        ("words", 34, None),
        ("words", 129, "stream_bytes"),
        ("words", 2**40, "stream_bytes"),
        ("words", 2**64 - 1, "stream_bytes"),
        ("chunk_blocks", 1, "header_bytes"),
        ("ndim", 0, "header_bytes"),
        ("ndim", 32, "header_bytes"),
    ],
)
def test_sizes_that_disagree(field, value, blamed):
    error = refused(forge(container(), *FIELDS[field], value))
    assert error.offset == (64 if blamed is None else FIELDS[blamed][0])


@pytest.mark.parametrize("size", [0, 15, 17, 2**40, 2**64 - 1])
def test_stream_length_against_the_file(size):
    data = forge(container(), *FIELDS["stream_bytes"], size)
    header_bytes = len(data) - 16
    assert refused(data).offset == (header_bytes + size if size < 16 else len(data))


def test_header_longer_than_the_file():
    data = bytearray(container())
    struct.pack_into("<Q", data, 24, 2**64 - 1)
    assert refused(bytes(data)).offset == len(data)


@pytest.mark.parametrize("shape", [(33, 2), (11, 2), (2**63, 2), (0, 0), (2**33, 2**33)])
def test_shape_of_other_size(shape):
    data = container(EXAMPLE.reshape(11, 3))
    for axis, size in enumerate(shape):
        data = forge(data, 64 + 8 * axis, "Q", size)
    assert refused(data).offset == 64


def test_shape_that_numpy_cannot_have():
    data = forge(container(np.empty((0, 1), np.float32)), 72, "Q", 2**62)
    assert refused(data).offset == 64


@pytest.mark.parametrize("offset", [4, 8, 2**63, 2**64 - 4])
def test_index_that_cannot_be(offset):
    data = container(np.zeros(96, np.float32), chunk_blocks=1)
    first_entry = 64 + 8
    assert refused(forge(data, first_entry, "Q", offset)).offset == first_entry


@pytest.mark.parametrize(
    ("offset", "chunk"), [(0, 0), (3, 0), (5, 0), (8, 1), (136, 0), (2**63, 0)]
)
def test_index_entry_blamed(offset, chunk):
    """A chunk ends where the next starts: 4 bytes are the least of a block, 132 the most."""
    data = container(np.zeros(96, np.float32), chunk_blocks=1)
    first_entry = 64 + 8
    error = refused(forge(data, first_entry + 12, "Q", offset))
    assert error.offset == first_entry + 12 * chunk
    assert error.reason == f"chunk {chunk} cannot start and end where the index says"


def test_padding_must_be_zero():
    data = container(EXAMPLE, chunk_blocks=1)  # two entries: 64 + 8 + 24 + 4, and 4 of padding
    assert refused(forge(data, 96, "I", 1)).offset == 96


@pytest.mark.parametrize(
    ("data", "offset"),
    [(b"", 0), (b"\x89ZVC", 4), (b"PK\3\4", 0), (b"\x93NUMPY\1\0" + bytes(100), 0)],
)
def test_other_files(data, offset):
    assert refused(data).offset == offset


def test_forged_sizes_take_no_memory():
    """All claims are checked against the file's length first."""
    data = container()
    cases = [
        forge(data, *FIELDS[field], value)
        for field in ("words", "stream_bytes", "block_words", "ndim")
        for value in (2**8 - 1, 2**32 - 32, 2**40, 2**62)
        if value < 2 ** (8 * struct.calcsize(FIELDS[field][1]))
    ]
    assert len(cases) == 11
    tracemalloc.start()
    try:
        for case in cases:
            with pytest.raises(StreamError):
                read_container(io.BytesIO(case))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
