"""Prefetch: words and completion for good and for corrupt streams and indexes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.format import ErrorCode
from cdma.golden import StreamError, engine

CONFIG = EngineConfig(channels=2, lanes=2, stripe_bytes=1024)


def check(reference, simple, stream, index, count, config, limit=None, crc=True):
    """The golden engine does what the second engine does."""
    stream, index = np.asarray(stream, np.uint8), np.asarray(index, np.uint8)
    limit = len(stream) if limit is None else limit
    wanted = simple.prefetch(
        reference, stream.tobytes(), index.tobytes(), count, config, limit, crc
    )
    result = engine.salvage_stripes(stream, index, count, config, crc=crc, limit=limit)
    assert result.words.tolist() == wanted.data
    assert (result.status, result.stripe, result.where, result.bytes) == (
        wanted.status,
        wanted.stripe,
        wanted.where,
        wanted.bytes,
    )
    assert (result.written, result.raw_stripes) == (wanted.written, wanted.raw)
    return result


@pytest.mark.parametrize("raw", ["never", "auto", "always"])
def test_round_trip(tensor, small, raw):
    stripe = small.stripe_words
    for count in (0, 1, stripe, stripe + 1, 40 * stripe + small.block_words + 1):
        words = tensor(small, count, count, (0.0, 0.5, 1.0, 1.0))
        sent = engine.offload(words, small, raw=raw, crc=bool(count % 2))
        back = engine.prefetch(sent.stream, sent.index, count, small)
        assert np.array_equal(back, words)
        again = engine.salvage_stripes(sent.stream, sent.index, count, small)
        assert (again.status, again.bytes, again.stripe) == (0, sent.bytes, sent.stripe)
        assert (again.written, again.raw_stripes) == (count, sent.raw_stripes)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_corruption(reference, simple, tensor, data):
    count = data.draw(st.integers(1, 1100), label="count")
    words = tensor(CONFIG, count, data.draw(st.integers(0, 50)))
    raw = data.draw(st.sampled_from(["never", "always"]))
    sent = engine.offload(words, CONFIG, raw=raw, crc=data.draw(st.booleans()))
    stream, index = sent.stream.copy(), sent.index.copy()
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        target = data.draw(st.sampled_from([stream, index]))
        place = data.draw(st.integers(0, len(target) - 1))
        target[place] ^= 1 << data.draw(st.integers(0, 7))
    limit = data.draw(st.sampled_from([len(stream), len(stream) - 4, len(stream) // 8 * 4]))
    check(reference, simple, stream, index, count, CONFIG, limit, data.draw(st.booleans()))


def test_every_truncation_leaves_the_neighbours_alone(reference, simple, tensor):
    words = tensor(CONFIG, 700, 4, densities=(0.5,))
    sent = engine.offload(words, CONFIG, raw="never")
    sizes = sent.index.view("<u4")[::2].tolist()
    for lost in range(4, sizes[1] - 32, 4):
        stream = np.delete(sent.stream, np.arange(sizes[0] + sizes[1] - lost, sizes[0] + sizes[1]))
        index = sent.index.copy()
        index.view("<u4")[2] -= lost
        result = check(reference, simple, stream, index, 700, CONFIG)
        assert (result.status, result.stripe) == (Status.TRUNCATED, 1)
        assert np.array_equal(result.words[:256], words[:256])
        assert np.array_equal(result.words[512:], words[512:])


def test_every_bit_of_a_stripe(reference, simple, tensor):
    words = tensor(CONFIG, 520, 6, densities=(0.1,))
    sent = engine.offload(words, CONFIG, raw="never", crc=True)
    start = int(sent.index.view("<u4")[0] & 0xFFFFFF)
    size = int(sent.index.view("<u4")[2] & 0xFFFFFF)
    for bit in range(8 * start, 8 * (start + size)):
        stream = sent.stream.copy()
        stream[bit // 8] ^= 1 << bit % 8
        result = check(reference, simple, stream, sent.index, 520, CONFIG)
        assert (result.status, result.stripe) == (Status.CRC, 1)
        assert np.array_equal(result.words[:256], words[:256])
        assert np.array_equal(result.words[512:], words[512:])


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (0, "size 0"),
        (28, "less than the masks"),
        (1024 + 36, "more than words and masks"),
        (34, "no whole words"),
        (1 << 24 | 1020, "raw with the wrong size"),
        (1 << 26 | 32, "reserved bit"),
        (0xFFFFFF, "largest size"),
    ],
)
def test_impossible_entries(reference, simple, flags, name):
    words = np.zeros(768, np.uint32)
    sent = engine.offload(words, CONFIG, raw="never")
    index = sent.index.copy()
    index.view("<u4")[2] = flags
    result = check(reference, simple, sent.stream, index, 768, CONFIG)
    assert (result.status, result.stripe, result.bytes, result.written) == (17, 1, 32, 256), name


def test_the_sum_of_the_index_must_be_the_limit(reference, simple, tensor):
    words = tensor(CONFIG, 1000, 8)
    sent = engine.offload(words, CONFIG, raw="never")
    short = check(reference, simple, sent.stream[:-4], sent.index, 1000, CONFIG)
    assert (short.status, short.stripe) == (Status.INDEX, 3)
    longer = np.append(sent.stream, np.zeros(4, np.uint8))
    long = check(reference, simple, longer, sent.index, 1000, CONFIG)
    assert (long.status, long.stripe, long.where) == (Status.INDEX, 4, len(sent.stream))
    assert np.array_equal(long.words, words)


def test_the_lowest_stripe_is_reported(reference, simple, tensor):
    words = tensor(CONFIG, 1000, 9, densities=(0.5,))
    words[:256] = 0
    sent = engine.offload(words, CONFIG, raw="never", crc=True)
    stream, index = sent.stream.copy(), sent.index.copy()
    stream[28] ^= 1  # last mask of stripe 0: truncated, and CRC
    index.view("<u4")[4] = 0  # entry of stripe 2
    result = check(reference, simple, stream, index, 1000, CONFIG)
    assert (result.status, result.stripe) == (Status.CRC, 0)
    result = check(reference, simple, stream, index, 1000, CONFIG, crc=False)
    assert (result.status, result.stripe, result.where) == (Status.TRUNCATED, 0, 28)
    assert result.written == 512


def test_a_mask_bit_past_the_end(reference, simple):
    words = np.zeros(260, np.uint32)
    sent = engine.offload(words, CONFIG, raw="never")
    stream = sent.stream.copy()
    stream[-1] = 0x80
    result = check(reference, simple, stream, sent.index, 260, CONFIG)
    assert (result.status, result.stripe, result.where) == (3, 1, 32)


def test_any_stripe_can_be_fetched_alone(tensor):
    config = EngineConfig()
    words = tensor(config, 9000, 10)
    sent = engine.offload(words, config)
    ends = np.cumsum(sent.index.view("<u4")[::2] & 0xFFFFFF)
    for k in range(1, 8):
        part = sent.stream[ends[k - 1] : ends[k]]
        back = engine.prefetch(part, sent.index[8 * k : 8 * k + 8], 1024, config)
        assert np.array_equal(back, words[1024 * k : 1024 * (k + 1)])


def test_errors_name_stripe_and_offset(tensor):
    words = tensor(CONFIG, 600, 11, densities=(0.5,))
    sent = engine.offload(words, CONFIG, raw="never", crc=True)
    stream = sent.stream.copy()
    first = int(sent.index.view("<u4")[0] & 0xFFFFFF)
    stream[first + 5] ^= 0xFF
    with pytest.raises(StreamError) as caught:
        engine.prefetch(stream, sent.index, 600, CONFIG)
    error = caught.value
    assert (error.stripe, error.offset, error.code) == (1, first, Status.CRC)
    assert str(error) == f"Stripe 1, byte {first}: the CRC of the stripe does not match"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    index = sent.index.copy()
    index.view("<u4")[2] -= 4  # a word less, and so in the sum
    with pytest.raises(engine.StripeError) as caught:
        engine.prefetch(np.delete(sent.stream, range(first, first + 4)), index, 600, CONFIG, False)
    assert isinstance(caught.value.code, ErrorCode)
    words, status = engine.prefetch(stream, sent.index, 600, CONFIG, salvage=True)
    assert (status, words.shape) == (Status.CRC, (600,))


def test_bus_errors(tensor):
    words = tensor(CONFIG, 1000, 12, densities=(0.5,))
    sent = engine.offload(words, CONFIG, raw="never")
    result = engine.salvage_stripes(
        sent.stream, sent.index, 1000, CONFIG, fault=(2, Status.HOST_SLVERR)
    )
    assert (result.status, result.stripe, result.written) == (34, 2, 512)
    assert np.array_equal(result.words[:512], words[:512])
    index = sent.index.copy()
    index.view("<u4")[2] = 0
    result = engine.salvage_stripes(sent.stream, index, 1000, CONFIG, fault=(1, Status.TIMEOUT))
    assert (result.status, result.stripe) == (Status.INDEX, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": np.zeros(12, np.uint8)}, "Index must be whole entries of 8 bytes, not 12"),
        ({"index": np.zeros(8, np.uint8)}, "Index must have 3 entries, not 1"),
        ({"count": 10**18}, "Index must have [0-9]+ entries, not 3"),
        ({"limit": 10000}, "Stream must have 10000 bytes, not 96"),
    ],
)
def test_refusals(change, message):
    given = {"stream": np.zeros(96, np.uint8), "index": np.zeros(24, np.uint8)}
    given |= {"count": 768, "config": CONFIG} | change
    with pytest.raises(ValueError, match=f"^{message}$"):
        engine.salvage_stripes(**given)
