"""Streams with a tail of ones: they end themselves, as those of Intel's IAA do."""

import io

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cdma.golden import (
    ErrorCode,
    Format,
    StreamError,
    compress,
    decompress,
    read_container,
    read_header,
    read_range,
    salvage,
    write_container,
)

fuzz = settings(deadline=None, max_examples=100)
FORMATS = [Format(8, 8, "ones"), Format(8, 16, "ones"), Format(16, 16, "ones")]
FORMATS += [Format(bits, tail="ones") for bits in (8, 16, 32, 64)]


def iaa_compress(data: bytes, size: int) -> bytes:
    """From the description of the operations: a mask per 128 bytes, then the words not zero."""
    out = b""
    for start in range(0, len(data), 128):
        words = [data[k : k + size] for k in range(start, min(start + 128, len(data)), size)]
        bits = ["0" if word == bytes(size) else "1" for word in words]
        bits += ["1"] * (128 // size - len(words))
        out += int("".join(reversed(bits)), 2).to_bytes(16 // size, "little")
        out += b"".join(word for word in words if any(word))
    return out


def iaa_decompress(stream: bytes, size: int) -> bytes:
    """From the description: stops where a word should be present and the input has ended."""
    source, out = io.BytesIO(stream), b""
    while mask := source.read(16 // size):
        for bit in range(128 // size):
            word = source.read(size) if mask[bit // 8] >> bit % 8 & 1 else bytes(size)
            if len(word) < size:
                return out
            out += word
    return out


def reference_decode(stream: bytes, fmt: Format):
    """Words, offset and code of any bytes without a count, written from ``docs/format.md``."""
    words, at = [], 0
    while at < len(stream):
        start, first = at, len(words)
        if start + fmt.mask_bytes > len(stream):
            return words, start, ErrorCode.TRUNCATED
        mask = int.from_bytes(stream[start : start + fmt.mask_bytes], "little")
        at += fmt.mask_bytes
        for bit in range(fmt.block_words):
            if not mask >> bit & 1:
                words.append(0)
            elif at + fmt.word_bytes <= len(stream):
                words.append(int.from_bytes(stream[at : at + fmt.word_bytes], "little"))
                at += fmt.word_bytes
            else:
                padding = (1 << fmt.block_words - bit) - 1
                good = at == len(stream) and len(words) > first and mask >> bit == padding
                return (words, at, ErrorCode.NONE) if good else (words, start, ErrorCode.TRUNCATED)
    return words, at, ErrorCode.NONE


def refusal(stream: bytes, fmt: Format) -> StreamError | None:
    try:
        decompress(stream, None, fmt)
    except StreamError as error:
        return error
    return None


def check(stream: bytes, fmt: Format) -> str:
    """``salvage`` and ``decompress`` without a count, on any bytes."""
    words, offset, code = reference_decode(stream, fmt)
    salvaged, consumed, found = salvage(stream, None, fmt)
    assert salvaged.tolist() == words
    assert (consumed, found) == (offset, code)
    refused = refusal(stream, fmt)
    if refused:
        if refused.code is not ErrorCode.ZERO_WORD:
            assert (refused.offset, refused.code) == (offset, code)
        return refused.code.name
    assert code is ErrorCode.NONE
    decoded = decompress(stream, None, fmt)
    assert decoded.tolist() == words
    assert compress(decoded, fmt).tobytes() == stream  # and no other stream decodes to it
    return "words"


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_samples_agree_with_iaa(bits, manifest, data_folder):
    fmt, size = Format(bits, tail="ones"), bits // 8
    entries = [entry for entry in manifest if entry["word_bytes"] == size]
    tested = 0
    for entry in entries[:6]:
        array = np.load(data_folder / entry["file"])[entry["key"]].reshape(-1)[:9001]
        for part in (array, array[:-1], array[: array.size // 2]):
            stream = compress(part, fmt).tobytes()
            assert stream == iaa_compress(part.tobytes(), size)
            assert iaa_decompress(stream, size) == part.tobytes()
            assert decompress(stream, None, fmt).tobytes() == part.tobytes()
            tested += 1
    assert tested or bits == 8, "no sample has words of this width"


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("density", [0, 0.4, 1])
def test_agrees_with_iaa(bits, density):
    fmt, rng = Format(bits, tail="ones"), np.random.default_rng(bits)
    block = fmt.block_words
    for count in (0, 1, 2, block - 1, block, block + 1, 5 * block + 3):
        words = rng.integers(1, 200, count).astype(fmt.dtype) * (rng.random(count) < density)
        stream = iaa_compress(words.tobytes(), bits // 8)
        assert compress(words, fmt).tobytes() == stream
        assert decompress(stream, None, fmt).tobytes() == words.tobytes()
        assert iaa_decompress(stream, bits // 8) == words.tobytes()


def test_example_of_the_document():
    words = np.zeros(33, "<f4")
    words[1], words[32] = 1, -0.0
    fmt = Format(tail="ones")
    stream = compress(words, fmt)
    assert bytes(stream).hex() == "020000000000803fffffffff00000080"
    assert decompress(stream, None, fmt).tobytes() == words.tobytes()
    assert decompress(stream, 33, fmt).tobytes() == words.tobytes()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ("02000000 0000803f ffff", "mask of 4 bytes expected, the stream ends at byte 10"),
        ("02000000 0000803f ffffffff 000000", "word 32 is cut, the stream ends at byte 15"),
        ("02000000 0000803f ffffffff", "mask is followed by no word, the stream ends at byte 12"),
        ("02000000 0000803f 05ffffff 00000080", "word 34 is missing, although the mask goes on to"),
    ],
)
def test_cut_streams(stream, reason):
    with pytest.raises(StreamError, match=rf"^Byte 8: {reason}") as caught:
        decompress(bytes.fromhex(stream), None, Format(tail="ones"))
    assert caught.value.code is ErrorCode.TRUNCATED


def test_a_count_is_checked():
    fmt = Format(8, 8, "ones")
    stream = compress(np.array([1, 0, 2], "u1"), fmt)
    assert bytes(stream).hex() == "fd0102"
    for count, code in ((2, ErrorCode.TRAILING), (4, ErrorCode.TRUNCATED)):
        with pytest.raises(StreamError) as caught:
            decompress(stream, count, fmt)
        assert caught.value.code is code
    with pytest.raises(StreamError, match=r"^Byte 0: mask does not mark word 3, past the end of 2"):
        decompress(bytes.fromhex("f501"), 2, fmt)


def test_a_tail_of_zeros_needs_a_count():
    with pytest.raises(TypeError, match=r"^Word count must be an integer, not None$"):
        decompress(b"", None, Format())


def test_unknown_tail():
    with pytest.raises(ValueError, match=r"^Tail must be zeros or ones, not 'twos'$"):
        Format(tail="twos")


@st.composite
def damaged(draw):
    """A format and a good stream, cut or with a byte changed."""
    fmt = draw(st.sampled_from(FORMATS))
    words = draw(st.lists(st.sampled_from([0, 0, 1, 255, 128]), max_size=3 * fmt.block_words))
    stream = bytearray(compress(np.array(words, fmt.dtype), fmt))
    if stream and draw(st.booleans()):
        stream[draw(st.integers(0, len(stream) - 1))] ^= 1 << draw(st.integers(0, 7))
    return fmt, bytes(stream[: len(stream) - draw(st.sampled_from([0, 0, 1, 2, 4, 9]))])


@fuzz
@given(case=damaged())
def test_damaged_streams(case):
    event(check(case[1], case[0]))


@fuzz
@given(fmt=st.sampled_from(FORMATS), stream=st.binary(max_size=120))
def test_any_bytes(fmt, stream):
    event(check(stream, fmt))


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 8192 * 17 + 5])
def test_container(count):
    fmt = Format(tail="ones")
    words = (np.arange(count) % 3).astype("<u4")
    file = io.BytesIO()
    write_container(file, words, fmt, raw_chunks=True)
    assert read_header(file).format == fmt
    assert file.getvalue()[10:12] == b"\1\0"
    np.testing.assert_array_equal(read_container(file), words, strict=True)
    np.testing.assert_array_equal(read_range(file, count // 2, count), words[count // 2 :])
