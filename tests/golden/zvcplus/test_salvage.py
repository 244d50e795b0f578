"""What the hardware gives for any bytes, beside the decoder of canonical streams."""

from collections import Counter

import numpy as np
import pytest
from zvcplus_cases import damaged, random_words

from cdma.golden import zvcplus
from cdma.golden.zvcplus.codec import decode
from cdma.golden.zvcplus.salvage import salvage
from cdma.zvcplus import ErrorCode, Format

#: Errors that the hardware looks for.
LOOKED_FOR = (
    ErrorCode.TRUNCATED, ErrorCode.TRAILING, ErrorCode.MASK_PAST_END, ErrorCode.RESERVED,
    ErrorCode.TOO_LONG, ErrorCode.COUNT,
)  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "repeats"),
    [
        *((type_, "none") for type_ in ("fp32", "fp16", "bf16", "int8")),
        *((type_, "left") for type_ in ("fp32", "fp16", "bf16", "int8")),
    ],
)
def test_the_first_error_is_that_of_the_decoder_where_hardware_looks_for_it(type_, repeats):
    rng = np.random.default_rng(1)
    fmt, codes = Format(type_, repeats), Counter()
    for _ in range(60):
        words = random_words(rng, fmt, int(rng.integers(0, 4 * fmt.block_words)))
        stream = zvcplus.compress(words, fmt).tobytes()
        found, consumed, code = salvage(stream, len(words), fmt)
        assert (consumed, code) == (len(stream), ErrorCode.NONE)
        assert found.tolist() == words.tolist()
        for _ in range(4):
            wrong, count = damaged(rng, stream, len(words), fmt)
            expected, error = decode(wrong, count, fmt)
            found, consumed, code = salvage(wrong, count, fmt)
            assert code in (ErrorCode.NONE, *LOOKED_FOR)
            assert consumed <= len(wrong)
            assert len(found) <= count
            assert found.dtype == np.dtype(fmt.dtype)
            # In fp16, where k = 6 is taken as 5, errors behind it may be others.
            if error is None or (error.code in LOOKED_FOR and type_ != "fp16"):
                assert code == (error.code if error else ErrorCode.NONE)
            before = min(len(expected), len(found))
            assert found[:before].tolist() == expected[:before].tolist()
            if code in (ErrorCode.NONE, ErrorCode.TRAILING):
                assert len(found) == count
            codes[code] += 1
    assert set(codes) > {ErrorCode.NONE, ErrorCode.TRUNCATED, ErrorCode.TRAILING}


@pytest.mark.parametrize(
    ("type_", "count", "stream"),
    [("fp32", 19, "f3ff02df741a"), ("int8", 120, "35000300000019")],
)
def test_with_repeats_a_control_that_is_cut_behind_its_mask_is_truncated(type_, count, stream):
    """The mask is past the end, and the stream ends in the fields behind it."""
    fmt, data = Format(type_, "left"), bytes.fromhex(stream)
    assert decode(data, count, fmt)[1].code == ErrorCode.MASK_PAST_END
    assert salvage(data, count, fmt)[2] == ErrorCode.TRUNCATED


def bits_of(*fields: tuple[int, int]) -> bytes:
    """A stream of fields: value and bits."""
    number = at = 0
    for value, width in fields:
        number, at = number | value << at, at + width
    return number.to_bytes(-(-at // 8), "little")


def test_bases_and_exponents_wrap():
    """A base 3 below 0, and an offset of 1 from it: fp16, dense by a raw mask of one word."""
    control = [(3, 2), (1, 3), (0, 3), (1, 3), (1, 64)]
    stream = bits_of(*control, (5, 10), (1, 1))
    words, consumed, code = salvage(stream, 1, Format("fp16"))
    assert (consumed, code) == (len(stream), ErrorCode.NONE)
    assert words.tolist() == [(32 - 3 - 1) << 10 | 5]


def test_offsets_of_fp16_have_five_bits():
    """k = 6 in a raw mask of one word: 10 mantissa bits, 5 of offset and no more."""
    control = [(3, 2), (1, 3), (7, 3), (6, 3), (20, 5), (1, 64)]
    stream = bits_of(*control, (5, 10), (3, 5))
    words, consumed, code = salvage(stream, 1, Format("fp16"))
    assert (consumed, code) == (len(stream), ErrorCode.NONE)
    assert words.tolist() == [(20 - 3) << 10 | 5]


def test_widths_of_int8_are_taken_as_they_are_sent():
    """Two words of 8 and 2 bits, in groups of 16; 256 is 0."""
    control = [(3, 2), (5, 3), (1, 1), (7, 3), (1, 3), (0, 18), (1 | 1 << 16, 128)]
    stream = bits_of(*control, (255, 8), (2, 2))
    words, consumed, code = salvage(stream, 20, Format("int8"))
    assert (consumed, code) == (len(stream), ErrorCode.NONE)
    assert words.tolist() == [0] * 16 + [3] + [0] * 3


def test_the_length_of_int8_is_compared_with_widths_and_repeats():
    """Three words of 4 bits in a raw mask, the second repeated: 3 bits of repeats, 8 of words."""
    fmt = Format("int8", "left")
    for length in (0, 3, 10, 11):
        control = [(3, 2), (1, 3), (1, 1), (0, 1), (4, 3), (0, 9), (7, 128), (length, 10)]
        stream = bits_of(*control, (0b010, 3), (8, 4), (5, 4))
        words, consumed, code = salvage(stream, 3, fmt)
        if length == 11:
            assert (consumed, code) == (len(stream), ErrorCode.NONE)
            assert words.tolist() == [9, 9, 6]
        else:
            assert (consumed, code) == (20, ErrorCode.COUNT)  # of the control
            assert not len(words)


def test_an_error_gives_the_end_of_the_last_payload_in_front_of_it():
    fmt = Format("fp32")
    words = np.full(96, 0x3F800000, "<u4")
    stream = zvcplus.compress(words, fmt).tobytes()
    # C(0) C(1) P(0) C(2) P(1) P(2): 23 bits for each of 32 equal exponents; the first sends a base.
    controls, payload = [19, 11, 11], 32 * 23
    ends = [controls[0], sum(controls[:2]) + payload, sum(controls) + 2 * payload]
    assert len(stream) == -(-(sum(controls) + 3 * payload) // 8)
    for size in range(len(stream)):
        found, consumed, code = salvage(stream[:size], 96, fmt)
        assert code == ErrorCode.TRUNCATED
        there = [0, *(end for end in ends if end <= 8 * size)]
        # A control is read before the payload in front of it is known to be whole.
        assert consumed in {-(-end // 8) for end in there[-2:]}
        assert found.tolist() == words[: found.size].tolist()


def test_other_formats_are_refused():
    with pytest.raises(ValueError, match=r"^Format must be without repeats above, not Format\("):
        salvage(b"", 0, Format("int8", "above", 4))
