"""Containers with anything wrong: the array, or the refusal that the document asks for.

``reference.py`` walks the file a word at a time and says which. Files are sealed with CRCs that
match, as whoever forges one would, or they are not.
"""

import io
import math
import struct
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cdma.golden import ErrorCode, Format, write_container, zvcplus
from cdma.golden.lossy.codec import quantise_words
from cdma.golden.lossy.elements import from_float64
from cdma.golden.lossy.file import write_quantised

fuzz = settings(deadline=None, max_examples=250)

FORMATS = [Format(8, 8), Format(8), Format(16), Format(16, 64), Format(32), Format(64)]
#: What a field of any width may be forged to.
NUMBERS = sorted(
    {0, 1, 7, 8, 31, 32, 33, 64, 72, 2**16 - 1, 2**62, 2**64 - 4, 2**64 - 1}
    | {2**bits + more for bits in (31, 32, 33, 40, 63) for more in (-32, -1, 0, 1)}
)
#: Offset and struct code of the fields that are numbers.
NUMERIC_FIELDS = [
    *((8, "H"), (10, "H"), (12, "B"), (13, "B"), (14, "H"), (16, "I"), (20, "I")),
    *((24, "Q"), (32, "Q"), (40, "Q")),
]
#: Likewise, of the lossy codec and of ZVC+, by the codec's number.
CODEC_FIELDS = {
    0: [],
    1: [(64, "Q"), (72, "Q"), (80, "I"), (84, "I")],
    2: [(64, "B"), (65, "B"), (66, "H"), (68, "I"), (72, "I"), (76, "I")],
}


@pytest.fixture(params=["batches as usual", "small batches"], scope="module", autouse=True)
def _batches(request):
    """All limits of batches, too, so small that a short file passes them many times."""
    if request.param == "batches as usual":
        yield
        return
    with (
        mock.patch("cdma.golden.container.file._GROUP_WORDS", 300),
        mock.patch("cdma.golden.container.file._LOCKSTEP_CHUNKS", 2),
        mock.patch("cdma.golden.zvc.codec._BATCH_BYTES", 100),
        mock.patch("cdma.golden.zvc.walk._WINDOW_WORDS", 11),
    ):
        yield


@st.composite
def containers(draw) -> bytes:
    """What ``write_container`` writes: up to some hundred words in chunks of few blocks."""
    fmt = draw(st.sampled_from(FORMATS))
    shape = draw(st.sampled_from([(0,), (), (1,), (31, 3), (2, 3, 50), (fmt.block_words * 7 + 1,)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    array = rng.integers(1, 256, shape).astype(fmt.dtype)
    array[rng.random(shape) < draw(st.sampled_from([0, 0.01, 0.5, 1]))] = 0
    file = io.BytesIO()
    if draw(st.integers(0, 3)) == 0:  # of the lossy codec, some elements outliers
        dtype = draw(st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
        words = from_float64(array.reshape(-1) * np.float64(0.7), dtype)
        bound, bits = draw(st.sampled_from([0.1, 0.4, 3.5])), draw(st.sampled_from([8, 16, 32]))
        write_quantised(file, quantise_words(words, dtype, array.shape, bound, bits))
        return file.getvalue()
    if draw(st.integers(0, 3)) == 0 and fmt.word_bits < 64:
        type_ = draw(
            st.sampled_from({8: ["int8"], 16: ["fp16", "bf16"], 32: ["fp32"]}[fmt.word_bits])
        )
        options = [("none",), ("left",), ("above", 3), ("above", 40, 2)]
        fmt = zvcplus.Format(type_, *draw(st.sampled_from(options)))
    raw_chunks = draw(st.booleans())
    write_container(file, array, fmt, draw(st.integers(1, 4)), raw_chunks=raw_chunks)
    return file.getvalue()


@st.composite
def damaged(draw, kinds) -> bytes:
    """A container with some things of these kinds done to it."""
    data = bytearray(draw(containers()))
    dimensions, header_bytes = data[13], int.from_bytes(data[24:32], "little")
    codec = data[14]
    shape_at = 64 + (0, 24, 16)[codec]
    chunks = (header_bytes - 4 - shape_at - 8 * dimensions) // 12
    for _ in range(draw(st.integers(1, 3))):
        what = draw(st.sampled_from(kinds))
        at = draw(st.integers(0, max(0, len(data) - 1)))
        if what == "field":
            fields = NUMERIC_FIELDS + CODEC_FIELDS[codec]
            offset, code = draw(st.sampled_from(fields))
            _forge(data, offset, struct.calcsize("<" + code), draw)
        elif what in ("shape", "index"):
            index_at = shape_at + 8 * dimensions
            start, step, entries = (
                (shape_at, 8, dimensions) if what == "shape" else (index_at, 12, chunks)
            )
            _forge(data, start + step * draw(st.integers(0, max(0, entries - 1))), 8, draw)
        elif what == "padding":
            data[header_bytes - 8 + draw(st.integers(0, 3))] ^= 1 << draw(st.integers(0, 7))
        elif what == "byte":
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        elif what == "cut":
            del data[at:]
        elif what == "insert":
            data[at:at] = draw(st.binary(max_size=9))
        else:
            del data[at : at + draw(st.integers(1, 9))]
    return bytes(data)


@st.composite
def damaged_streams(draw, reference) -> bytes:
    """A sealed container whose header is right and whose stream may not be."""
    data = bytearray(draw(containers()))
    start, (size,) = int.from_bytes(data[24:32], "little"), struct.unpack_from("<Q", data, 40)
    word_bytes, mask_bytes = data[12] // 8, int.from_bytes(data[16:20], "little") // 8
    for _ in range(draw(st.integers(1, 3)) if size else 0):
        at = start + draw(st.integers(0, size - 1))
        what = draw(st.sampled_from(["byte", "bit", "zero word", "last mask"]))
        if what == "byte":
            data[at] = draw(st.integers(0, 255))
        elif what == "bit":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "zero word":
            at -= (at - start) % word_bytes
            data[at : at + word_bytes] = bytes(word_bytes)
        else:  # of a last block that holds a word or none
            at = max(start, len(data) - mask_bytes - draw(st.integers(0, 1)) * word_bytes)
            data[min(at + draw(st.integers(0, mask_bytes - 1)), len(data) - 1)] |= 0x81
    return reference.seal(bytes(data))


def _forge(data: bytearray, at: int, size: int, draw) -> None:
    """Another number there: an absurd one, or a little more or less."""
    if len(data) < at + size:
        return
    number = int.from_bytes(data[at : at + size], "little")
    near = st.sampled_from([-32, -4, -1, 1, 4, 32]).map(lambda more: number + more)
    number = draw(st.one_of(st.sampled_from(NUMBERS), near)) % 2 ** (8 * size)
    data[at : at + size] = number.to_bytes(size, "little")


@st.composite
def headers(draw, reference) -> bytes:
    """A header of its own making before zero masks: as it must be, but for what is drawn else."""
    fmt = draw(st.sampled_from([*FORMATS, Format(8, 2**32 - 8), Format(64, 2**32 - 64)]))
    sizes = st.sampled_from([0, 0, 1, 2, 3, 40, *NUMBERS])
    shape = draw(st.lists(sizes, max_size=34))
    words = math.prod(shape)
    chunk_blocks = draw(st.sampled_from([1, 2, 3, 2**32 - 1]))
    if words > 2000:  # no file has so many: claim them all the same, or none of them
        words = draw(st.sampled_from([0, 1, words % 2**64]))
    blocks = -(-words // fmt.block_words)
    mask_bytes = fmt.mask_bytes * blocks if fmt.mask_bytes * blocks < 5000 else 16
    chunks = -(-blocks // chunk_blocks) if blocks < 2000 else 1
    index = b"".join(
        struct.pack("<QI", chunk * chunk_blocks * fmt.mask_bytes % 2**64, 0)
        for chunk in range(chunks)
    )
    size = 64 + 8 * len(shape) + len(index) + 4
    padding = bytes(-size % 8)
    dtype = draw(st.sampled_from([n for n, s in reference.DTYPES.items() if s == fmt.word_bytes]))
    data = struct.pack(
        "<8sHHBBHIIQQQ16s",
        *(b"\x89ZVC\r\n\x1a\n", 1, 0, fmt.word_bits, len(shape), 0, fmt.block_words),
        *(chunk_blocks, size + len(padding), words, mask_bytes, dtype.encode()),
    )
    data += struct.pack(f"<{len(shape)}Q", *shape) + index + padding + bytes(4 + mask_bytes)
    forged = bytearray(data)
    for offset, code in draw(st.lists(st.sampled_from(NUMERIC_FIELDS), max_size=1)):
        _forge(forged, offset, struct.calcsize("<" + code), draw)
    return reference.seal(bytes(forged))


@fuzz
@given(st.data(), st.booleans())
def test_damage(reference, agreement, data, seals):
    kinds = ("field", "shape", "index", "byte", "cut", "insert", "delete")
    damaged_bytes = data.draw(damaged(kinds))
    event(agreement.check_container(reference.seal(damaged_bytes) if seals else damaged_bytes))


@fuzz
@given(st.data())
def test_damage_of_the_index(reference, agreement, data):
    event(agreement.check_container(reference.seal(data.draw(damaged(("index", "padding"))))))


@fuzz
@given(st.data())
def test_damage_of_the_stream(reference, agreement, data):
    event(agreement.check_container(data.draw(damaged_streams(reference))))


@fuzz
@given(st.data())
def test_headers_with_absurd_sizes(reference, agreement, data):
    event(agreement.check_container(data.draw(headers(reference))))


@fuzz
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes(agreement, data, has_magic):
    magic = b"\x89ZVC\r\n\x1a\n\1\0\0\0" if has_magic else b""
    event(agreement.check_container(magic + data))


def test_the_reference_reads_what_was_written(reference):
    """Both of them right: else all of the above could hold for the wrong reason."""
    array = np.arange(1000, dtype=np.float32).reshape(10, 100) % 3
    file = io.BytesIO()
    write_container(file, array, chunk_blocks=3)
    header, elements = reference.read_container(file.getvalue())
    assert elements == array.tobytes()
    assert (header.dtype, header.shape, header.words) == ("float32", (10, 100), 1000)
    assert len(header.chunks) == 11
    assert reference.seal(file.getvalue()) == file.getvalue()
    unsealed = bytearray(file.getvalue())
    unsealed[-1] ^= 1
    with pytest.raises(reference.RefusedError) as caught:
        reference.read_container(bytes(unsealed))
    assert caught.value.verdict == (header.chunks[-1][0], ErrorCode.CONTAINER)
