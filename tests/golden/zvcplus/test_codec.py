import hashlib
import re

import ml_dtypes
import numpy as np
import pytest
import zvcplus_reference as reference
from zvcplus_cases import TYPES

from cdma.golden import zvcplus
from cdma.golden.zvcplus.codec import compress_bits
from cdma.zvcplus import ErrorCode, Format

INT8_CHECK = np.zeros(128, np.uint8)
INT8_CHECK[[0, 48]] = 255, 2
INT8_CHECK[32:48] = 1


def error_of(bits: str, count: int, fmt: Format) -> tuple[int, ErrorCode]:
    """What a stream of these bits is refused with; the reference agrees."""
    stream = reference.to_bytes(bits)
    with pytest.raises(zvcplus.StreamError) as caught:
        zvcplus.decompress(stream, count, fmt)
    found = caught.value.offset, caught.value.code
    assert reference.decode(stream, count, fmt)[1] == found
    return found


def test_check_of_the_format():
    stream, bits = compress_bits(INT8_CHECK, Format("int8"))
    assert bits == 87
    assert hashlib.sha256(stream).hexdigest().startswith("b735a335374df296")


def test_all_zero_blocks_take_two_bits():
    for type_ in TYPES:
        fmt = Format(type_)
        stream, bits = compress_bits(np.zeros(100 * fmt.block_words + 1, fmt.dtype), fmt)
        assert bits == 202
        assert not stream.any()
    assert compress_bits(np.zeros(0, np.uint32), Format())[1] == 0


def test_raw_blocks_grow_by_five_bits():
    words = np.random.default_rng(0).integers(0, 2**32, 3200, np.uint32)
    stream, bits = compress_bits(words, Format())
    assert bits == 100 * 1029
    assert np.array_equal(zvcplus.decompress(stream, 3200, Format()), words)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int8])
def test_arrays_of_any_order(dtype):
    type_ = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8"}
    fmt = Format(type_[np.dtype(dtype).name])
    array = (np.arange(600) % 7).astype(dtype).reshape(20, 30)
    stream = zvcplus.compress(array, fmt)
    assert np.array_equal(stream, zvcplus.compress(np.asfortranarray(array), fmt))
    words = zvcplus.decompress(stream.tobytes(), 600, fmt)
    assert words.dtype == np.dtype(fmt.dtype)
    assert words.tobytes() == array.tobytes()


def near_the_limit(fmt: Format, seed: int) -> list[int]:
    """Words of a block that is hard to compress."""
    rng, bits, size = np.random.default_rng(seed), fmt.word_bits, fmt.block_words
    words = rng.integers(1, 1 << bits, size)
    if bits == 8:
        for first in range(0, size, 32):
            limit = 1 << int(rng.choice([7, 8, 8]))
            words[first : first + 32] = rng.integers(1, limit, 32)
    zeros = rng.integers(0, 6)
    if bits == 8:
        zeros = rng.integers(0, 20)
    words[:zeros] = 0
    for _ in range(int(rng.integers(0, 3))):
        words[rng.integers(0, size)] = 0
    return words.tolist()


#: Type, repeats, seed of a block, and the bits that its coded form has. Of 32 and 16 bits, blocks
#: without used repeats cannot have all sizes: words of 16 bits with a sign leave few remainders.
LIMITS = [
    *(("int8", "none", 53, 1028), ("int8", "none", 568, 1029), ("int8", "none", 111, 1030)),
    *(("int8", "left", 291, 1028), ("int8", "left", 53, 1029), ("int8", "left", 568, 1030)),
    *(("fp16", "none", 21, 1028), ("fp16", "left", 21, 1029), ("bf16", "left", 78, 1028)),
    *(("bf16", "none", 21, 1031), ("fp32", "left", 5, 1028), ("fp32", "none", 39, 1031)),
]


@pytest.mark.parametrize(("type_", "repeats", "seed", "size"), LIMITS)
def test_blocks_at_the_limit_of_raw(type_, repeats, seed, size):
    fmt = Format(type_, repeats)
    words = near_the_limit(fmt, seed)
    control, payload, _ = reference.code_block(words, 0, fmt, 0)
    assert len(control) + len(payload) == size
    stream, length = compress_bits(np.array(words, fmt.dtype), fmt)
    assert stream.tobytes() == reference.to_bytes(reference.encode(words, fmt))
    assert length == min(size, 1029)
    if size <= 1028:
        return
    is_raw = stream[0] & 31 == 3  # 11000, lowest bit first
    assert is_raw
    offset, code = error_of(control + payload, len(words), fmt)
    if size == 1029:  # a raw block would have been as long
        assert (offset, code) == (control.index("1", 2), ErrorCode.NOT_CANONICAL)
    else:
        assert (offset, code) == (0, ErrorCode.TOO_LONG)


def test_a_block_that_is_raw_behind_one_base_and_coded_behind_another():
    """With a base to send, the block has 8 bits more."""
    fmt = Format("fp32", "left")
    last = near_the_limit(fmt, 5)
    base = max(word >> 23 & 255 for word in last)
    for first_exponent, size in [(base, 1020), (base // 2, 1029)]:
        words = [first_exponent << 23 | 1, *[0] * 31, *last]
        stream, length = compress_bits(np.array(words, np.uint32), fmt)
        expected = reference.encode(words, fmt)
        assert stream.tobytes() == reference.to_bytes(expected)
        behind = reference.encode_block(words, 32, fmt, first_exponent)
        assert len(behind[0]) + len(behind[1]) == min(size, 1028)
        assert np.array_equal(zvcplus.decompress(stream, 64, fmt), words)
        assert length == len(expected)


F32, LEFT = Format(), Format("fp32", "left")
TWO_BEATS = Format("fp32", "above", 9, 2)
#: Flags and nibble of a mask with one word, by its number; bits of numbers come lowest first.
FIRST, SECOND, TENTH = "10000000" + "1000", "10000000" + "0100", "00100000" + "0100"
RAW_MASK = "11" + "100"


def control(mode="01", rep="", d="110", k="000", mask=FIRST, last=""):
    """A control of fp32: by default mask as it is, base 0, no offset bits."""
    return mode + rep + d + k + mask + last


#: Bits, words, format, offset and code.
WRONG = {
    "no bits": ("", 1, F32, 0, ErrorCode.TRUNCATED),
    "control cut": (control()[:16], 1, F32, 16, ErrorCode.TRUNCATED),
    "payload cut": (control() + 20 * "1", 1, F32, 40, ErrorCode.TRUNCATED),
    "filling": ("00000100", 1, F32, 5, ErrorCode.TRAILING),
    "a byte more": (16 * "0", 1, F32, 8, ErrorCode.TRAILING),
    "a byte for no words": (8 * "0", 0, F32, 0, ErrorCode.TRAILING),
    "reserved": ("11" + "110", 1, F32, 2, ErrorCode.RESERVED),
    "flags past the end": (control(mask=SECOND) + 23 * "1", 1, F32, 8, ErrorCode.MASK_PAST_END),
    "dense past the end": (control("11010", mask=""), 31, F32, 0, ErrorCode.MASK_PAST_END),
    "mask past the end": (
        control(RAW_MASK, mask=32 * "1"), 31, F32, 11, ErrorCode.MASK_PAST_END,
    ),
    "raw words past the end": (
        "11000" + 1023 * "0" + "1", 31, F32, 5 + 992, ErrorCode.MASK_PAST_END,
    ),
    "base below zero": (control(d="010"), 1, F32, 2, ErrorCode.RANGE),
    "exponent below zero": (control(k="100") + 24 * "1", 1, F32, 43, ErrorCode.RANGE),
    "zero word": (control() + 23 * "0", 1, F32, 20, ErrorCode.ZERO_WORD),
    "zero nibble": (
        control(mask="11000000" + "1000" + "0000"), 32, F32, 20, ErrorCode.NOT_CANONICAL,
    ),
    "no word": (control(mask=8 * "0"), 32, F32, 8, ErrorCode.NOT_CANONICAL),
    "no word in a mask": (control(RAW_MASK, mask=32 * "0"), 32, F32, 11, ErrorCode.NOT_CANONICAL),
    "not differences": (control() + 23 * "1", 1, F32, 0, ErrorCode.NOT_CANONICAL),
    "more repeats than words": (control(rep="1", last="01000"), 1, LEFT, 21, ErrorCode.COUNT),
    "fewer repeats": (control(rep="1", last="00000") + "0", 1, LEFT, 21, ErrorCode.COUNT),
    "no source": (control(rep="1", last="00000") + "1", 1, LEFT, 26, ErrorCode.REPEAT),
    "repeats a zero": (
        control(rep="1", mask=SECOND, last="00000") + "1", 2, LEFT, 26, ErrorCode.REPEAT,
    ),
    "source too near": (
        control(rep="1", mask=TENTH, last="00000") + "11", 10, TWO_BEATS, 27, ErrorCode.REPEAT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_have_their_bit_offset(name):
    bits, count, fmt, offset, code = WRONG[name]
    assert error_of(bits, count, fmt) == (offset, code)


def test_errors_far_into_a_stream():
    """The offset counts from the start of the stream, over batches of blocks."""
    words = np.ones(32 * 3000, np.uint32)
    stream, bits = compress_bits(words, F32)
    with pytest.raises(zvcplus.StreamError) as caught:
        zvcplus.decompress(stream[:-1], words.size, F32)
    assert caught.value.offset == 8 * len(stream) - 8
    assert str(caught.value) == f"Bit {8 * len(stream) - 8}: the stream ends here"
    assert caught.value.code is ErrorCode.TRUNCATED
    middle = len(stream) // 2
    stream[middle : middle + 8] = 0
    with pytest.raises(zvcplus.StreamError) as caught:
        zvcplus.decompress(stream, words.size, F32)
    assert abs(caught.value.offset - bits // 2) < 3000
    assert zvcplus.decompress(stream[:0], 0, F32).size == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: zvcplus.compress(np.zeros(1), F32), ValueError, "Element size must be 4 bytes"),
        (lambda: zvcplus.compress([None], F32), TypeError, "Element type must be numeric"),
        (lambda: zvcplus.compress(np.zeros(1, "f4"), 3), TypeError, "Format must be a zvcplus."),
        (lambda: zvcplus.decompress(b"", 0, None), TypeError, "Format must be a zvcplus.Format"),
        (lambda: zvcplus.decompress(b"", -1, F32), ValueError, "Word count must be zero or more"),
        (lambda: zvcplus.decompress("", 0, F32), TypeError, "Stream must be bytes"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        call()
