"""The golden codec beside the reference, on random words and on damaged streams."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
import zvcplus_reference as reference
from zvcplus_cases import damaged, random_format, random_words

from cdma.golden import zvcplus
from cdma.zvcplus import ErrorCode


def verdict(stream: bytes, count: int, fmt):
    """Words, or offset and code of the error."""
    try:
        return zvcplus.decompress(stream, count, fmt).tolist(), reference.NONE
    except zvcplus.StreamError as error:
        return None, (error.offset, error.code)


def agree(seed: int, packets: int) -> Counter:
    """Errors met in the damaged streams of random packets."""
    rng, codes = np.random.default_rng(seed), Counter()
    for _ in range(packets):
        fmt = random_format(rng)
        words = random_words(rng, fmt, int(rng.integers(0, 4 * fmt.block_words + 2)))
        with mock.patch("cdma.golden.zvcplus.codec._BATCH_BLOCKS", int(rng.integers(1, 4))):
            stream = zvcplus.compress(words, fmt).tobytes()
            assert stream == reference.to_bytes(reference.encode(words.tolist(), fmt)), fmt
            assert verdict(stream, len(words), fmt) == (words.tolist(), reference.NONE), fmt
            for _ in range(4):
                wrong, count = damaged(rng, stream, len(words), fmt)
                expected, error = reference.decode(wrong, count, fmt)
                found = verdict(wrong, count, fmt)
                assert found[1] == error, (fmt, count, wrong.hex())
                assert found[0] in (None, expected), (fmt, count, wrong.hex())
                codes[error[1]] += 1
    return codes


def test_random_packets_and_damage():
    assert len(agree(seed=1, packets=40)) >= 6


@pytest.mark.slow
def test_many_random_packets_and_every_error():
    codes = agree(seed=2, packets=2500)
    assert set(codes) == {None, *ErrorCode} - {ErrorCode.NONE}


@pytest.mark.parametrize("type_", ["fp32", "int8"])
def test_absurd_counts(type_):
    """No stream so short holds so many words."""
    fmt = zvcplus.Format(type_)
    for bits in (31, 62):
        for stream in (b"", b"\0", bytes(40)):
            with pytest.raises(zvcplus.StreamError) as caught:
                zvcplus.decompress(stream, 1 << bits, fmt)
            assert caught.value.code is ErrorCode.TRUNCATED
            assert caught.value.offset == 8 * len(stream)
