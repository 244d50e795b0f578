"""Words other than zero that are omitted: a zero value, and -0.0 beside 0.0."""

import io
import re

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
from cdma.golden.zvc.fold import check_fold, has_negative_zero

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


INTEGERS = [
    ("i1", "int8, of which -128 would become 0"),
    ("<i2", "int16, of which -32768 would become 0"),
    ("<i4", "int32, of which -2147483648 would become 0"),
    (">i8", "int64, of which -9223372036854775808 would become 0"),
    ("u1", "uint8, of which 128 would become 0; name the type of bare words (--dtype, or a view)"),
    (
        ">u2",
        "uint16, of which 32768 would become 0; name the type of bare words (--dtype, or a view)",
    ),
    ("?", "bool"),
]


@pytest.mark.parametrize(("dtype", "what"), INTEGERS)
def test_folding_refuses_all_but_floating_point(dtype, what):
    array = np.ones(4, dtype)
    fmt = Format(8 * array.itemsize, fold_negative_zero=True)
    message = f"^Elements must be floating point to fold -0.0 into 0.0, not {re.escape(what)}$"
    for refuse in (compress, lambda *each: write_container(io.BytesIO(), *each)):
        with pytest.raises(TypeError, match=message):
            refuse(array, fmt)


def test_folding_of_words_whose_type_is_named():
    words = np.array([0x8000, 0, 0x3F80], "<u2")
    fmt = Format(16, fold_negative_zero=True)
    stream = compress(words.view("f2"), fmt)
    assert decompress(stream, 3, fmt).tolist() == [0, 0, 0x3F80]
    check_fold(words.dtype, fmt, "bfloat16")
    fp8 = np.dtype("u1", metadata={"stored_as": "float8_e5m2"})
    check_fold(fp8, Format(8, fold_negative_zero=True))
    fp8 = np.dtype("u1", metadata={"stored_as": "float8_e5m2fnuz"})
    with pytest.raises(TypeError, match="not uint8, of which 128"):
        check_fold(fp8, Format(8, fold_negative_zero=True))


def test_folding_knows_the_floats_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert has_negative_zero(np.dtype(ml_dtypes.bfloat16))
    assert has_negative_zero(np.dtype(ml_dtypes.float8_e5m2))
    assert not has_negative_zero(np.dtype(ml_dtypes.float8_e5m2fnuz))
    assert not has_negative_zero(np.dtype(ml_dtypes.float8_e8m0fnu))


@pytest.mark.parametrize("fmt", [Format(8, zero_value=128), Format(32, fold_negative_zero=True)])
def test_container(fmt):
    rng = np.random.default_rng(1)
    dtype = "<f4" if fmt.fold_negative_zero else fmt.dtype
    array = np.where(rng.random(99_999) < 0.7, fmt.zero_value, 3).astype(dtype)
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
