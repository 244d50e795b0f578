"""Offload: stream, index and completion, byte for byte."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.engine_codes import Raw, Status
from cdma.engine_config import EngineConfig
from cdma.golden import compress, engine

POLICIES = ("never", "auto", "always")


def check(reference, simple, words, config, raw, limit, crc):
    """The golden engine does what the second engine does."""
    wanted = simple.offload(reference, words.tolist(), config, raw, limit, crc)
    result = engine.offload(words, config, raw=raw, limit=limit, crc=crc)
    assert result.stream.tobytes() == wanted.data
    assert result.index.tobytes() == wanted.index
    assert (result.status, result.stripe, result.where) == (
        wanted.status,
        wanted.stripe,
        wanted.where,
    )
    assert (result.bytes, result.raw_stripes) == (wanted.bytes, wanted.raw)
    return result


@pytest.mark.parametrize("raw", POLICIES)
def test_agrees_with_the_second_engine(reference, simple, tensor, small, raw):
    stripe = small.stripe_words
    counts = [0, 1, stripe - 1, stripe, stripe + 1, 3 * stripe + small.block_words + 1, 5 * stripe]
    for count in counts:
        words = tensor(small, count, count)
        for crc in (False, True):
            check(reference, simple, words, small, raw, None, crc)


@pytest.mark.parametrize("raw", POLICIES)
def test_auto_acts_at_its_distance(reference, simple, tensor, raw):
    config = EngineConfig(channels=2, lanes=2, stripe_bytes=1024)
    stripes = 3 * config.auto_distance + 2
    for densities in ((1.0,), (0.0, 1.0), (0.96, 0.97, 1.0)):
        words = tensor(config, stripes * config.stripe_words - 3, 7, densities)
        result = check(reference, simple, words, config, raw, None, False)
        if raw == "auto" and densities == (1.0,):
            assert result.raw_stripes == stripes - config.auto_distance
        assert result.bytes <= config.bound(words.nbytes)


def test_a_dense_tensor_does_not_grow_from_stripe_d_on():
    config = EngineConfig(stripe_bytes=2048)
    words = np.ones(1 << 20, np.uint32)
    first = config.auto_distance * config.stripe_words
    sizes = engine.offload(words, config, raw="auto").index.view("<u4")[::2] & 0xFFFFFF
    assert sizes[: config.auto_distance].sum() == first * 4 * 33 // 32
    assert sizes[config.auto_distance :].sum() == (len(words) - first) * 4


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_limits(reference, simple, tensor, data):
    config = EngineConfig(channels=2, lanes=2, stripe_bytes=1024)
    words = tensor(config, data.draw(st.integers(0, 1500)), data.draw(st.integers(0, 99)))
    whole = engine.offload(words, config, raw="never").bytes
    near = st.sampled_from([0, 4, max(0, whole - 4), whole, whole + 4])
    limit = data.draw(near | st.integers(0, whole // 4 + 1).map(lambda n: 4 * n))
    raw = data.draw(st.sampled_from(POLICIES))
    check(reference, simple, words, config, raw, limit, data.draw(st.booleans()))


def test_without_raw_stripes_the_stream_is_that_of_the_codec(tensor, small):
    words = tensor(small, 7 * small.stripe_words - 5, 3)
    result = engine.offload(words, small, raw="never")
    assert np.array_equal(result.stream, compress(words, small.format))
    assert result.status is Status.OK


def test_an_overflow_keeps_the_exact_prefix_and_the_whole_index(tensor):
    config = EngineConfig()
    words = tensor(config, 10 * 1024, 5)
    whole = engine.offload(words, config)
    for limit in range(0, whole.bytes, 1236):
        cut = engine.offload(words, config, limit=limit)
        assert cut.status is Status.OVERFLOW
        assert np.array_equal(cut.stream, whole.stream[:limit])
        assert np.array_equal(cut.index, whole.index)
        assert (cut.bytes, cut.where) == (whole.bytes, limit)


def test_types_and_orders_of_elements():
    config = EngineConfig()
    array = np.asfortranarray(np.arange(6000, dtype=">f4").reshape(60, 100) % 3)
    result = engine.offload(array, config)
    flat = array.astype("<f4").reshape(-1).view("<u4")
    assert np.array_equal(engine.prefetch(result.stream, result.index, 6000, config), flat)


def test_bus_errors_end_the_tensor(tensor):
    config = EngineConfig()
    words = tensor(config, 8 * 1024, 1, densities=(0.5,))
    whole = engine.offload(words, config)
    ends = np.cumsum(whole.index.view("<u4")[::2] & 0xFFFFFF)
    cut = engine.offload(words, config, fault=(3, Status.DEVICE_SLVERR))
    assert (cut.status, cut.stripe, cut.bytes) == (Status.DEVICE_SLVERR, 3, ends[2])
    assert np.array_equal(cut.index, whole.index[:24])
    assert np.array_equal(cut.stream, whole.stream[: ends[2]])
    # The lowest stripe is reported: the overflow of stripe 1 comes before the error of stripe 3.
    both = engine.offload(words, config, limit=int(ends[0]) + 4, fault=(3, Status.DEVICE_SLVERR))
    assert (both.status, both.stripe) == (Status.OVERFLOW, 1)
    first = engine.offload(words, config, fault=(0, Status.HOST_DECERR))
    assert (first.status, first.stripe, first.bytes, len(first.index)) == (35, 0, 0, 0)


def test_copies():
    config = EngineConfig()
    words = np.arange(2000, dtype=np.uint32)
    copied = engine.copy_out(words, config)
    assert copied.stream.tobytes() == words.tobytes()
    assert (copied.status, copied.bytes, copied.stripe) == (Status.OK, 8000, 2)
    short = engine.copy_out(words, config, limit=7996)
    assert (short.status, short.bytes, short.stripe, len(short.stream)) == (16, 8000, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"raw": "some"}, ValueError, "Raw policy must be one of never, auto, always, not 'some'"),
        ({"raw": 3}, ValueError, "Raw policy must be one of never, auto, always, not 3"),
        ({"limit": 6}, ValueError, "Limit must be whole words of 4 bytes, not 6"),
        ({"config": 4}, TypeError, "Configuration must be an EngineConfig, not 4"),
        ({"array": np.zeros(4, "u2")}, ValueError, "Element size must be 4 bytes to be a word"),
        ({"fault": (9, 32)}, ValueError, "Fault must be in one of 2 stripes, not in 9"),
        ({"fault": (1, 3)}, ValueError, "Fault must be a bus error, not 3"),
    ],
)
def test_refusals(arguments, error, message):
    given = {"array": np.zeros(2000, np.uint32), "config": EngineConfig()} | arguments
    with pytest.raises(error) as caught:
        engine.offload(**given)
    assert str(caught.value).startswith(message)


def test_policies_by_number():
    words = np.ones(2048, np.uint32)
    assert engine.offload(words, EngineConfig(), raw=Raw.ALWAYS).raw_stripes == 2


def test_the_bound_is_never_passed(tensor, small):
    words = tensor(small, 9 * small.stripe_words + 3, 2, densities=(1.0,))
    for raw in POLICIES:
        assert engine.offload(words, small, raw=raw).bytes <= small.bound(words.nbytes)
