import hashlib
import re
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden import ErrorCode, Format, StreamError, compress, decompress, salvage

FORMATS = [
    *(Format(8), Format(16), Format(32), Format(64)),
    *(Format(8, 8), Format(16, 64), Format(32, 96), Format(64, 128)),
]
#: The worked example of docs/format.md.
EXAMPLE = np.array([0, 1] + [0] * 30 + [-0.0], np.float32)
EXAMPLE_STREAM = bytes.fromhex("02000000 0000803f 01000000 00000080")

laws = settings(deadline=None, max_examples=150)


@st.composite
def formats_and_words(draw):
    """A format and up to three blocks of its words, half of them zero."""
    fmt = draw(st.sampled_from(FORMATS))
    word = st.one_of(st.just(0), st.integers(0, 2**fmt.word_bits - 1))
    return fmt, draw(st.lists(word, max_size=3 * fmt.block_words))


@st.composite
def damaged_streams(draw):
    """A stream with something done to it, its format and a count that may be another."""
    fmt, words = draw(formats_and_words())
    stream = bytearray(compress(np.array(words, fmt.dtype), fmt).tobytes())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(stream) - 1)))
        action = draw(st.sampled_from(["cut", "extend", "set", "zero word"]))
        if action == "cut":
            del stream[at:]
        elif action == "extend":
            stream += draw(st.binary(max_size=9))
        elif action == "set":
            stream[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        else:
            at -= at % fmt.word_bytes
            stream[at : at + fmt.word_bytes] = bytes(fmt.word_bytes)
    count = max(0, len(words) + draw(st.sampled_from([0, 0, 0, -1, 1, -fmt.block_words, 100])))
    return fmt, bytes(stream), count


def rejection(stream, count, fmt):
    """Offset and code that ``decompress`` rejects with, or the length and ``NONE``."""
    try:
        decompress(stream, count, fmt)
    except StreamError as error:
        return error.offset, error.code
    return len(stream), ErrorCode.NONE


def random_words(fmt, count, density=0.5):
    random = np.random.default_rng(count)
    words = random.integers(1, 2**fmt.word_bits, count, dtype=np.uint64).astype(fmt.dtype)
    words[random.random(count) >= density] = 0
    return words


def test_example():
    assert compress(EXAMPLE).tobytes() == EXAMPLE_STREAM
    assert np.array_equal(decompress(EXAMPLE_STREAM, 33, Format()), EXAMPLE.view(np.uint32))


@laws
@given(formats_and_words())
def test_streams_are_those_of_the_reference(reference_encode, case):
    fmt, words = case
    array = np.array(words, fmt.dtype)
    stream = compress(array, fmt)
    assert stream.dtype == np.uint8
    assert stream.shape == (fmt.stream_bytes(len(words), np.count_nonzero(array)),)
    assert stream.tobytes() == reference_encode(words, fmt)


@laws
@given(formats_and_words())
def test_round_trip(case):
    fmt, words = case
    array = np.array(words, fmt.dtype)
    stream = compress(array, fmt)
    given_back = decompress(stream, len(words), fmt)
    assert given_back.dtype == np.dtype(fmt.dtype)
    assert given_back.shape == (len(words),)
    assert np.array_equal(given_back, array)
    salvaged, consumed, code = salvage(stream, len(words), fmt)
    assert np.array_equal(salvaged, array)
    assert (consumed, code) == (len(stream), ErrorCode.NONE)


@settings(laws, max_examples=500)
@given(damaged_streams())
def test_damage_is_judged_as_by_the_reference(reference_decode, case):
    fmt, stream, count = case
    words, offset, code = reference_decode(stream, count, fmt, canonical=False)
    salvaged, consumed, found = salvage(stream, count, fmt)
    assert salvaged.tolist() == words
    assert (consumed, found) == (offset, code)
    _, offset, code = reference_decode(stream, count, fmt, canonical=True)
    assert rejection(stream, count, fmt) == (offset, code)


@laws
@given(st.sampled_from(FORMATS), st.binary(max_size=200), st.integers(0, 300))
def test_any_bytes_are_judged_as_by_the_reference(reference_decode, fmt, stream, count):
    words, offset, code = reference_decode(stream, count, fmt, canonical=False)
    salvaged, consumed, found = salvage(stream, count, fmt)
    assert salvaged.tolist() == words
    assert (consumed, found) == (offset, code)
    _, offset, code = reference_decode(stream, count, fmt, canonical=True)
    assert rejection(stream, count, fmt) == (offset, code)


@laws
@given(formats_and_words())
def test_a_stream_that_decodes_is_the_only_one(case):
    """No two streams of the same count decode alike: what is accepted compresses to itself."""
    fmt, words = case
    stream = compress(np.array(words, fmt.dtype), fmt).tobytes()
    for bit in range(min(8 * len(stream), 64)):
        flipped = bytearray(stream)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            other = decompress(flipped, len(words), fmt)
        except StreamError:
            continue
        assert compress(other, fmt).tobytes() == flipped


@pytest.mark.parametrize("density", [0, 0.03, 0.5, 1])
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_more_words_than_a_batch_holds(fmt, density, reference_encode):
    period = random_words(fmt, 4 * fmt.block_words, density)
    repeats = 400_000 // len(period)
    many = np.append(np.tile(period, repeats), period[:5])
    stream = compress(many, fmt)
    last = reference_encode(period[:5].tolist(), fmt)
    assert stream.tobytes() == reference_encode(period.tolist(), fmt) * repeats + last
    assert np.array_equal(decompress(stream, len(many), fmt), many)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_truncation(fmt, reference_decode):
    words = random_words(fmt, 2 * fmt.block_words + 3)
    stream = compress(words, fmt).tobytes()
    for length in range(len(stream)):
        cut = stream[:length]
        offset, code = rejection(cut, len(words), fmt)
        assert code is ErrorCode.TRUNCATED
        kept, consumed, found = salvage(cut, len(words), fmt)
        assert (consumed, found) == (offset, code)
        assert kept.tolist() == reference_decode(cut, len(words), fmt, canonical=False)[0]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@pytest.mark.parametrize("extra", [1, 2, 3, 4, 8, 100])
def test_every_extension(fmt, extra):
    for count in (0, 1, fmt.block_words, fmt.block_words + 1):
        words = random_words(fmt, count)
        stream = compress(words, fmt).tobytes()
        longer = stream + bytes(range(extra))
        assert rejection(longer, count, fmt) == (len(stream), ErrorCode.TRAILING)
        kept, consumed, code = salvage(longer, count, fmt)
        assert np.array_equal(kept, words)
        assert (consumed, code) == (len(stream), ErrorCode.TRAILING)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_mask_bit_past_the_end(fmt):
    words = random_words(fmt, fmt.block_words + 3, density=1)
    stream = compress(words, fmt).tobytes()
    mask_at = fmt.mask_bytes + fmt.block_words * fmt.word_bytes
    for bit in range(3, fmt.block_words):
        for tail in (b"", bytes(range(1, fmt.word_bytes + 1))):  # with and without that word
            marked = bytearray(stream + tail)
            marked[mask_at + bit // 8] |= 1 << bit % 8
            assert rejection(marked, len(words), fmt) == (mask_at, ErrorCode.MASK_PAST_END)
            kept, consumed, code = salvage(marked, len(words), fmt)
            assert np.array_equal(kept, words)
            assert (consumed, code) == (mask_at, ErrorCode.MASK_PAST_END)


def test_order_of_errors():
    """The first in the stream; at one offset mask, mask bit past the end, payload."""
    fmt = Format()
    zero_word = bytes.fromhex("01000000 00000000")
    full = bytes.fromhex("01000000 05000000")
    past_end = bytes.fromhex("03000000 05000000")
    for stream, count, expected in [
        (zero_word + past_end, 33, (4, ErrorCode.ZERO_WORD)),
        (zero_word + b"\1", 64, (4, ErrorCode.ZERO_WORD)),
        (zero_word + b"\1", 1, (4, ErrorCode.ZERO_WORD)),
        (bytes.fromhex("03000000 00000000"), 32, (0, ErrorCode.TRUNCATED)),
        (bytes.fromhex("03000000 00000000"), 1, (0, ErrorCode.MASK_PAST_END)),
        (full + past_end[:3], 33, (8, ErrorCode.TRUNCATED)),
        (full + past_end[:4], 33, (8, ErrorCode.MASK_PAST_END)),
        (full + full[:4], 33, (8, ErrorCode.TRUNCATED)),
        (full + past_end + b"\1", 33, (8, ErrorCode.MASK_PAST_END)),
        (full, 0, (0, ErrorCode.TRAILING)),
    ]:
        assert rejection(stream, count, fmt) == expected


@pytest.mark.parametrize(
    ("stream", "count", "message"),
    [
        (
            "02000000 0000803f 0100",
            33,
            "Byte 8: mask of 4 bytes expected, the stream ends at byte 10",
        ),
        (
            "02000000 0000803f 01000000 0000",
            33,
            "Byte 8: mask marks words that reach to byte 16, the stream ends at byte 14",
        ),
        (
            "02000000 0000803f 03000000 00000080",
            33,
            "Byte 8: mask marks word 33 of 33, counted from 0",
        ),
        ("02000000 00000000", 32, "Byte 4: zero word sent as non-zero"),
        ("01000000 00000000", 1, "Byte 4: zero word sent as non-zero"),
        ("01000000 0000803f 00", 1, "Byte 8: stream of 1 words ends here, 1 more bytes follow"),
    ],
)
def test_messages(stream, count, message):
    with pytest.raises(StreamError, match=f"^{re.escape(message)}$"):
        decompress(bytes.fromhex(stream), count, Format())


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_zero_word_deep_inside(fmt):
    """Its own offset, in whatever batch it lies."""
    words = random_words(fmt, 300_000 // fmt.block_words * fmt.block_words)
    words[:: fmt.block_words] = 1  # a word to spoil in each block
    stream = compress(words, fmt)
    blocks = np.count_nonzero(words.reshape(-1, fmt.block_words), axis=1)
    starts = np.append(0, np.cumsum(fmt.mask_bytes + blocks * fmt.word_bytes))
    damaged = stream.copy()
    for block in (len(blocks) - 1, len(blocks) // 2, 0):  # each in front of those before
        at = int(starts[block + 1]) - fmt.word_bytes
        damaged[at : at + fmt.word_bytes] = 0
        assert rejection(damaged, len(words), fmt) == (at, ErrorCode.ZERO_WORD)
        _, consumed, code = salvage(damaged, len(words), fmt)
        assert (consumed, code) == (len(stream), ErrorCode.NONE)


def test_forged_count_takes_no_memory():
    with pytest.raises(StreamError) as caught:
        decompress(EXAMPLE_STREAM, 2**60, Format())
    assert (caught.value.offset, caught.value.code) == (16, ErrorCode.TRUNCATED)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0, -0.0, np.nan], [5e-324, -np.inf, 0]]),
        np.array([0, 1, -0.0, np.nan], np.float16),
        np.array([0, 1, -0.0, 3], ml_dtypes.bfloat16),
        np.array([True, False, True]),
        np.array([0, 1 + 2j, -0.0j], np.complex64),
        np.arange(-3, 4, dtype=np.int8),
        np.array(0.0, np.float32),
        np.array(3, np.uint64),
    ],
    ids=lambda array: str(array.dtype),
)
def test_any_numbers(array):
    fmt = Format(array.itemsize * 8)
    words = decompress(compress(array), array.size, fmt)
    assert words.tobytes() == array.tobytes()
    assert np.array_equal(compress(array), compress(words, fmt))


def test_memory_and_byte_order_do_not_matter():
    array = random_words(Format(), 6000).view("<f4").reshape(20, 30, 10)
    stream = compress(array)
    assert np.array_equal(compress(np.asfortranarray(array)), stream)
    assert np.array_equal(compress(array.astype(">f4")), stream)
    assert np.array_equal(compress(array[:, ::-1][:, ::-1]), stream)
    assert np.array_equal(compress(array.transpose(2, 0, 1).transpose(1, 2, 0)), stream)


def test_streams_of_any_kind_and_alignment():
    stream = compress(EXAMPLE)
    odd = np.append(np.uint8(0), stream)[1:]
    strided = np.repeat(stream, 2)[::2]
    for given_stream in (stream, odd, strided, bytearray(stream), memoryview(stream.tobytes())):
        assert np.array_equal(decompress(given_stream, 33, Format()), EXAMPLE.view(np.uint32))


def test_empty():
    for array in (np.empty(0, np.float32), np.empty((3, 0, 2), np.int8)):
        assert compress(array).tobytes() == b""
        assert decompress(b"", 0, Format(array.itemsize * 8)).shape == (0,)
    words, consumed, code = salvage(b"abc", 0, Format())
    assert (words.shape, consumed, code) == ((0,), 0, ErrorCode.TRAILING)


def test_input_is_left_alone_and_output_is_writable():
    array = EXAMPLE.copy()
    array.flags.writeable = False
    words = decompress(compress(array).tobytes(), 33, Format())
    words[0] = 1
    assert hashlib.sha256(array).digest() == hashlib.sha256(EXAMPLE).digest()


def test_refusals():
    with pytest.raises(ValueError, match=r"^Element size must be 8 bytes to be a word of 64 bits"):
        compress(EXAMPLE, Format(64))
    with pytest.raises(TypeError, match=r"^Element type must be numeric, not 'object'$"):
        compress(np.array([None]))
    with pytest.raises(TypeError, match=r"^Format must be a Format, not 32$"):
        decompress(EXAMPLE_STREAM, 33, 32)
    for decoder in (decompress, salvage):
        with pytest.raises(ValueError, match=r"^Word count must be zero or more, not -1$"):
            decoder(EXAMPLE_STREAM, -1, Format())
        with pytest.raises(TypeError, match=r"^Stream must be bytes"):
            decoder([0], 1, Format())


@pytest.mark.parametrize("tail", ["zeros", "ones"])
def test_a_long_block_of_few_words_takes_the_memory_of_its_mask(tail):
    fmt = Format(32, 1 << 25, tail)
    tracemalloc.start()
    try:
        stream = compress(np.float32([0, 1, 2]), fmt)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * fmt.mask_bytes  # all words of the block are 32 times as many bytes
    mask = np.full(fmt.mask_bytes, 255 if tail == "ones" else 0, np.uint8)
    mask[0] = 0b11111110 if tail == "ones" else 0b110
    assert stream.tobytes() == mask.tobytes() + np.float32([1, 2]).tobytes()
