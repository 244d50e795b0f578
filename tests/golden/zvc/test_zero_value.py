"""Words other than zero that are omitted: a zero value, and -0.0 beside 0.0."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden import (
    ErrorCode,
    Format,
    StreamError,
    compress,
    decompress,
    read_container,
    read_header,
    salvage,
    write_container,
)

FORMATS = [Format(8, 8, zero_value=128), Format(8, zero_value=255), Format(16, zero_value=1)]
FORMATS += [Format(32, 64, "ones", 0x80000000), Format(64, zero_value=2**64 - 1)]


def reference(words, fmt) -> bytes:
    """Mask and payload of each block, from the definition."""
    stream = b""
    for first in range(0, len(words), fmt.block_words):
        block = [int(word) for word in words[first : first + fmt.block_words]]
        mask = sum(1 << i for i, word in enumerate(block) if word != fmt.zero_value)
        if fmt.ends_itself:
            mask |= (1 << fmt.block_words) - (1 << len(block))
        stream += mask.to_bytes(fmt.mask_bytes, "little")
        kept = (word for word in block if word != fmt.zero_value)
        stream += b"".join(word.to_bytes(fmt.word_bytes, "little") for word in kept)
    return stream


@settings(deadline=None, max_examples=60)
@given(data=st.data(), fmt=st.sampled_from(FORMATS))
def test_the_zero_value_is_omitted(data, fmt):
    values = st.sampled_from([fmt.zero_value, fmt.zero_value, 0, 1, 2**fmt.word_bits - 1])
    drawn = data.draw(st.lists(values, max_size=3 * fmt.block_words))
    words = np.array(drawn, fmt.dtype)
    stream = compress(words, fmt)
    assert stream.tobytes() == reference(words, fmt)
    assert decompress(stream, words.size, fmt).tolist() == drawn
    if fmt.ends_itself:
        assert decompress(stream, None, fmt).tolist() == drawn


def test_a_zero_value_that_is_sent_is_refused():
    fmt = Format(8, 8, zero_value=7)
    for stream, at in (("0305 07", 2), ("ff 0102030405060708", 7)):
        with pytest.raises(StreamError, match="zero word sent as non-zero") as caught:
            decompress(bytes.fromhex(stream), 8, fmt)
        assert (caught.value.code, caught.value.offset) == (ErrorCode.ZERO_WORD, at)


def test_words_that_did_not_arrive_have_the_zero_value():
    words, at, code = salvage(bytes.fromhex("0105"), 20, Format(8, 8, zero_value=9))
    assert (words.tolist(), at, code) == ([5] + [9] * 19, 2, ErrorCode.TRUNCATED)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8"])
def test_folding_loses_the_sign_of_zeros_only(dtype):
    array = np.array([0.0, -0.0, 1.0, -1.0, np.nan, -np.inf, 5e-324, -0.0], dtype)
    fmt = Format(8 * array.itemsize, fold_negative_zero=True)
    words = decompress(compress(array, fmt), array.size, fmt)
    back = words.view(dtype)
    np.testing.assert_array_equal(back, array)
    kept = array != 0
    assert back[kept].tobytes() == array[kept].tobytes()
    assert not np.signbit(back[~kept]).any()
    assert compress(array, fmt).size < compress(array).size
    with pytest.raises(StreamError, match="zero word sent as non-zero"):
        decompress(compress(np.array([-0.0], dtype)), 1, fmt)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word_bits": 8, "zero_value": 256}, "Zero value must be a word of 8 bits, from 0 to 255"),
        ({"zero_value": -1}, "Zero value must be a word of 32 bits, from 0 to 4294967295, not -1"),
        ({"zero_value": 1, "fold_negative_zero": True}, "Zero value must be 0 where -0.0 is"),
    ],
)
def test_refused_values(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Format(**options)


@pytest.mark.parametrize("fmt", [Format(8, zero_value=128), Format(32, fold_negative_zero=True)])
def test_container(fmt):
    rng = np.random.default_rng(1)
    array = np.where(rng.random(99_999) < 0.7, fmt.zero_value, 3).astype(fmt.dtype)
    file = io.BytesIO()
    write_container(file, array, fmt)
    header = read_header(file)
    assert header.format == fmt
    assert header.density == pytest.approx(0.3, abs=0.02)
    np.testing.assert_array_equal(read_container(file), array, strict=True)
    damaged = bytearray(file.getvalue())
    damaged[10] ^= 2
    with pytest.raises(StreamError):
        read_header(io.BytesIO(damaged))
