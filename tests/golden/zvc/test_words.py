import re

import ml_dtypes
import numpy as np
import pytest

from cdma.golden import Format
from cdma.golden.zvc.words import (
    check_count,
    check_format,
    format_for,
    to_bytes,
    to_words,
    whole_words,
)

PATTERNS = [0, 1, 0x7F80_0001, 0xFFC0_1234, 0x8000_0000, 0x0000_0001, 0x7F80_0000]


def test_bit_patterns_pass_unchanged():
    """NaN payloads (signalling ones too), -0.0, denormals and infinities."""
    patterns = np.array(PATTERNS, "<u4")
    assert to_words(patterns.view("<f4")).tolist() == PATTERNS
    assert to_words(patterns.astype(">u4").view(">f4")).tolist() == PATTERNS


@pytest.mark.parametrize(
    "name", ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8"]
)
def test_any_byte_and_memory_order_gives_the_same_words(name):
    values = np.arange(24).reshape(2, 3, 4) % 5
    little = values.astype(np.dtype(name).newbyteorder("<"))
    expected = np.frombuffer(little.tobytes(), f"<u{little.itemsize}")
    for array in (
        little,
        values.astype(np.dtype(name).newbyteorder(">")),
        np.asfortranarray(little),
        np.repeat(little, 2, axis=2)[:, :, ::2],
        little[::-1][::-1],
    ):
        words = to_words(array)
        assert words.dtype == expected.dtype
        assert np.array_equal(words, expected)


def test_bfloat16():
    array = np.array([0, 1, -0.0], ml_dtypes.bfloat16)
    assert to_words(array).tolist() == [0, 0x3F80, 0x8000]


def test_scalar_and_empty():
    assert to_words(np.array(7, np.int16)).tolist() == [7]
    assert to_words(np.empty((3, 0), np.int16)).shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "fmt"),
    [
        ("bool", Format(8)),
        ("<f2", Format(16)),
        (ml_dtypes.bfloat16, Format(16)),
        (ml_dtypes.float8_e4m3fn, Format(8)),
        (">f4", Format(32)),
        ("c8", Format(64)),
    ],
)
def test_format_for_the_size_of_an_element(dtype, fmt):
    assert format_for(np.dtype(dtype)) == fmt
    assert format_for(np.dtype(dtype), Format(fmt.word_bits, 192)) == Format(fmt.word_bits, 192)


@pytest.mark.parametrize(
    ("dtype", "fmt", "error", "message"),
    [
        ("O", None, TypeError, "Element type must be numeric, not 'object'"),
        ("V4", None, TypeError, "Element type must be numeric, not '|V4'"),
        ("U1", None, TypeError, "Element type must be numeric, not '<U1'"),
        ("S4", None, TypeError, "Element type must be numeric, not '|S4'"),
        ("M8[s]", None, TypeError, "Element type must be numeric, not 'datetime64[s]'"),
        (
            "f4,f4",
            None,
            TypeError,
            "Element type must be numeric, not \"[('f0', '<f4'), ('f1', '<f4')]\"",
        ),
        (
            "c16",
            None,
            ValueError,
            "Element size must be 1, 2, 4 or 8 bytes, not 16 ('complex128')",
        ),
        (
            "f8",
            Format(32),
            ValueError,
            "Element size must be 4 bytes to be a word of 32 bits, not 8 ('float64')",
        ),
        ("f4", 32, TypeError, "Format must be a Format, not 32"),
    ],
)
def test_format_for_refusals(dtype, fmt, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        format_for(np.dtype(dtype), fmt)


@pytest.mark.parametrize("stream", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_to_bytes(stream):
    assert to_bytes(stream).tolist() == [97, 98, 99]
    assert to_bytes(stream[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("stream", "error", "message"),
    [
        ("", TypeError, "Stream must be bytes or an array of uint8, not str"),
        ([1], TypeError, "Stream must be bytes or an array of uint8, not list"),
        (
            np.zeros(1, np.int8),
            TypeError,
            "Stream must be bytes or an array of uint8, not of 'int8'",
        ),
        (
            np.zeros((1, 2), np.uint8),
            ValueError,
            "Stream must have one dimension, not shape (1, 2)",
        ),
    ],
)
def test_to_bytes_refusals(stream, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        to_bytes(stream)


@pytest.mark.parametrize("start", [0, 1, 2, 3])
@pytest.mark.parametrize("step", [1, 2])
def test_whole_words_are_aligned(start, step):
    data = np.arange(40, dtype=np.uint8)[start::step]
    words = whole_words(data, Format())
    assert words.flags.aligned
    assert words.tobytes() == data[: len(words) * 4].tobytes()
    assert len(words) == len(data) // 4


def test_check_count():
    assert check_count(np.int64(3)) == 3
    with pytest.raises(ValueError, match=r"^Word count must be zero or more, not -1$"):
        check_count(-1)
    with pytest.raises(TypeError, match=r"^Word count must be an integer, not 1\.0$"):
        check_count(1.0)


def test_check_format():
    with pytest.raises(TypeError, match=r"^Format must be a Format, not None$"):
        check_format(None)
