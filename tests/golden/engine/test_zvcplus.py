"""The golden engine with ZVC+: each stripe is a packet, filled up to whole words."""

import io
import zlib

import numpy as np
import pytest

from cdma import zvcplus as fmt
from cdma.engine_codes import Raw, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine, zvcplus

TYPES = ("fp32", "fp16", "bf16", "int8")
NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}


def config_of(type_):
    return EngineConfig(channels=1, stripe_bytes=1024, codec="zvcplus", type=type_)


@pytest.fixture(params=TYPES)
def config(request):
    return config_of(request.param)


def floats(config, count, density=0.4, seed=0):
    """Words with exponents near each other, as of activations."""
    rng = np.random.default_rng(seed)
    values = np.abs(rng.standard_normal(count)).astype("f4")
    if config.type == "int8":
        words = (values * 20).astype("u1") + 1
    elif config.type == "fp16":
        words = values.astype("f2").view("u2").copy()
    else:
        words = values.view("u4") >> (0 if config.type == "fp32" else 16)
    words[rng.random(count) >= density] = 0
    return words.astype(config.format.dtype)


def written_out(words, config, raw):
    """Stream and index, a stripe at a time, from the codec's own golden model."""
    stream, index, exceeds = b"", b"", []
    for number, at in enumerate(range(0, len(words), config.stripe_words)):
        part = words[at : at + config.stripe_words]
        coded = zvcplus.compress(part, config.format).tobytes()
        exceeds.append(len(coded) > part.nbytes)
        is_raw = raw == "always"
        if raw == "auto" and number >= config.auto_distance:
            is_raw = exceeds[number - config.auto_distance]
        data = part.tobytes() if is_raw else coded
        stream += data + bytes(-len(data) % config.word_bytes)
        index += (len(data) | is_raw << 24 | 1 << 25).to_bytes(4, "little")
        index += zlib.crc32(data).to_bytes(4, "little")
    return stream, index


@pytest.mark.parametrize("raw", ["never", "auto", "always"])
def test_out_and_back(config, raw):
    for count in (0, 1, config.stripe_words - 1, 5 * config.stripe_words + 3):
        words = floats(config, count)
        sent = engine.offload(words, config, raw=raw, crc=True)
        assert (sent.stream.tobytes(), sent.index.tobytes()) == written_out(words, config, raw)
        assert sent.bytes == sent.stream.size <= config.bound(words.nbytes)
        assert sent.bytes % config.word_bytes == 0
        back = engine.prefetch(sent.stream, sent.index, count, config)
        assert np.array_equal(back, words)


def test_auto_looks_at_coded_sizes():
    """Dense noise grows: AUTO sends it raw from D stripes on, and stops D stripes behind it."""
    config = config_of("fp32")
    distance, size = config.auto_distance, config.stripe_words
    words = np.random.default_rng(1).integers(1, 1 << 32, 3 * distance * size, dtype=np.uint32)
    words[2 * distance * size :] = 0
    sent = engine.offload(words, config, raw=Raw.AUTO, crc=True)
    assert sent.stream.tobytes() == written_out(words, config, "auto")[0]
    flags = sent.index.view("<u4")[::2] >> 24 & 1
    assert flags.tolist() == [0] * distance + [1] * (2 * distance)
    assert np.array_equal(engine.prefetch(sent.stream, sent.index, words.size, config), words)


def test_overflow_has_the_exact_prefix(config):
    words = floats(config, 3 * config.stripe_words)
    whole = engine.offload(words, config)
    ends = np.cumsum(config.padded((whole.index.view("<u4")[::2] & 0xFFFFFF).astype(int)))
    limit = int(ends[1]) - config.word_bytes
    cut = engine.offload(words, config, limit=limit)
    assert (cut.status, cut.stripe, cut.bytes) == (Status.OVERFLOW, 1, whole.bytes)
    assert np.array_equal(cut.stream, whole.stream[:limit])
    assert np.array_equal(cut.index, whole.index)


def resized(sent, stripe, size):
    index = sent.index.copy()
    index[8 * stripe : 8 * stripe + 3] = list(size.to_bytes(3, "little"))
    return index


def test_errors_of_a_stripe_leave_the_others(config):
    words = floats(config, 4 * config.stripe_words)
    sent = engine.offload(words, config)
    sizes = (sent.index.view("<u4")[::2] & 0xFFFFFF).tolist()
    places = np.cumsum([0, *map(config.padded, sizes)]).tolist()
    broken = sent.stream.copy()
    broken[places[1]] = broken[places[1]] & 0xE0 | 3 << 2 | 3  # an extended block, reserved
    found = engine.salvage_stripes(broken, sent.index, words.size, config)
    assert (found.status, found.stripe) == (Status.RESERVED, 1)
    assert (found.where, found.bytes) == (places[1], places[1])
    step = config.stripe_words
    assert np.array_equal(found.words[:step], words[:step])
    assert np.array_equal(found.words[2 * step :], words[2 * step :])
    assert found.open_words == (slice(step, 2 * step),)
    with pytest.raises(engine.StripeError, match=r"^Stripe 1, byte \d+: a block has a reserved"):
        engine.prefetch(broken, sent.index, words.size, config)


def test_sizes_count_bytes_and_padding_does_not_count():
    config = config_of("fp32")
    words = floats(config, 4 * config.stripe_words)
    sent = engine.offload(words, config, crc=True)
    sizes = (sent.index.view("<u4")[::2] & 0xFFFFFF).tolist()
    stripe = next(k for k, size in enumerate(sizes) if size % 4 == 2)
    end = sum(map(config.padded, sizes[: stripe + 1]))
    noisy = sent.stream.copy()
    noisy[end - 2 : end] = 0xFF
    assert np.array_equal(engine.prefetch(noisy, sent.index, words.size, config), words)
    for change, status in ((-1, Status.TRUNCATED), (1, Status.TRAILING)):
        index = resized(sent, stripe, sizes[stripe] + change)
        found = engine.salvage_stripes(sent.stream, index, words.size, config, crc=False)
        assert (found.status, found.stripe) == (status, stripe)
        found = engine.salvage_stripes(sent.stream, index, words.size, config, crc=True)
        assert (found.status, found.stripe) == (Status.CRC, stripe)


@pytest.mark.parametrize(("size", "fits"), [(1, 0), (2, 1), (1029, 1), (1030, 0)])
def test_possible_entries(size, fits):
    """A stripe of 8 blocks has 2 bytes to 1,029."""
    config = config_of("fp32")
    words = floats(config, 2 * config.stripe_words)
    sent = engine.offload(words, config)
    stream = np.concatenate([sent.stream, np.zeros(2048, np.uint8)])
    found = engine.salvage_stripes(stream, resized(sent, 0, size), words.size, config)
    assert (found.stripe != 0 or found.status != Status.INDEX) == bool(fits)


def test_container(config):
    words = floats(config, 6 * config.stripe_words + 5)
    sent = engine.offload(words, config, crc=True)
    file = io.BytesIO()
    engine.write_zvc(file, sent.stream, sent.index, config, NAMES[config.type], (words.size,))
    again = engine.read_zvc(io.BytesIO(file.getvalue()), config)
    assert np.array_equal(again.stream, sent.stream)
    assert np.array_equal(again.index, sent.index)
    other = EngineConfig(channels=1, stripe_bytes=2048, codec="zvcplus", type=config.type)
    if config.type != "bf16":  # NumPy has no such words, so that only stripes as they are come back
        coded = engine.read_zvc(io.BytesIO(file.getvalue()), other)
        assert np.array_equal(coded.stream, engine.offload(words, other).stream)


def test_containers_of_another_codec_or_type_are_refused():
    config = config_of("fp16")
    words = floats(config, 100)
    sent, file = engine.offload(words, config), io.BytesIO()
    engine.write_zvc(file, sent.stream, sent.index, config, "float16", (100,))
    file = file.getvalue()
    with pytest.raises(ValueError, match=r"^Container is of zvcplus, the engine of zvc$"):
        engine.read_zvc(io.BytesIO(file), EngineConfig(word_bits=16))
    with pytest.raises(ValueError, match=r"^Container is of fp16 with repeats none, the engine of"):
        engine.read_zvc(io.BytesIO(file), config_of("bf16"))


def test_elements_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"^Element size must be 4 bytes to be a word of fp32"):
        engine.offload(np.zeros(4, "u2"), config_of("fp32"))


def test_a_bound_of_cycles(config):
    words = floats(config, 20 * config.stripe_words)
    beats = words.nbytes // config.beat_bytes
    for direction in ("offload", "prefetch"):
        assert beats <= engine.cycles(words, config, direction=direction, latency=0) < 2 * beats


def test_the_longest_block():
    assert (fmt.RAW_BITS, config_of("fp32").stripe_bound) == (1029, 1032)
