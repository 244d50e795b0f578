"""Raw streams of any bytes, judged as by the reference however the decoder cuts its work up."""

from unittest import mock

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cdma.golden import ErrorCode, Format, StreamError, decompress

fuzz = settings(deadline=None, max_examples=300)

FORMATS = [Format(8, 8), Format(8), Format(16), Format(16, 64), Format(32), Format(32, 96)]
FORMATS += [Format(64), Format(64, 128), Format(8, 8, "ones"), Format(32, 64, "ones")]
FORMATS += [Format(8, 8, zero_value=1), Format(16, fold_negative_zero=True)]


@st.composite
def streams(draw):
    """A format, a stream of blocks that are right but for a few, and a count."""
    fmt = draw(st.sampled_from(FORMATS))
    stream, full = b"", draw(st.integers(0, 12))
    for _ in range(full + 1):
        mask = draw(st.sampled_from([0, 1, 2**fmt.block_words - 1, None]))
        if mask is None:
            mask = draw(st.integers(0, 2**fmt.block_words - 1))
        words = mask.bit_count()
        wrong = draw(
            st.sampled_from([*["none"] * 9, *["zero word"] * 3, "word more", "word less", "byte"])
        )
        words = max(0, words + {"word more": 1, "word less": -1}.get(wrong, 0))
        payload = bytearray([draw(st.integers(1, 255))]) * (words * fmt.word_bytes)
        if wrong == "zero word" and words:
            at = draw(st.integers(0, words - 1)) * fmt.word_bytes
            payload[at : at + fmt.word_bytes] = bytes(fmt.word_bytes)
        elif wrong == "byte":
            payload += b"\1"
        stream += mask.to_bytes(fmt.mask_bytes, "little") + payload
    stream = stream[: len(stream) - draw(st.sampled_from([0, 0, 0, 1, 3, 8, 40]))]
    return fmt, stream, full * fmt.block_words + draw(st.integers(0, fmt.block_words))


@fuzz
@given(case=streams(), window=st.integers(1, 40), batch=st.integers(1, 400))
def test_streams_with_wrong_blocks(agreement, case, window, batch):
    with (
        mock.patch("cdma.golden.zvc.walk._WINDOW_WORDS", window),
        mock.patch("cdma.golden.zvc.codec._BATCH_BYTES", batch),
    ):
        event(agreement.check_stream(*case))


@fuzz
@given(
    fmt=st.sampled_from(FORMATS),
    stream=st.binary(max_size=300),
    count=st.integers(0, 700),
    window=st.integers(1, 40),
)
def test_any_bytes(agreement, fmt, stream, count, window):
    with mock.patch("cdma.golden.zvc.walk._WINDOW_WORDS", window):
        event(agreement.check_stream(fmt, stream, count))


@fuzz
@given(fmt=st.sampled_from(FORMATS), stream=st.binary(max_size=99), bits=st.integers(11, 66))
def test_absurd_counts(fmt, stream, bits):
    """No stream so short holds so many words: the last mask is missing, or a payload is."""
    with pytest.raises(StreamError) as caught:
        decompress(stream, 2**bits, fmt)
    assert caught.value.code in (ErrorCode.TRUNCATED, ErrorCode.ZERO_WORD)
    assert 0 <= caught.value.offset <= len(stream)
