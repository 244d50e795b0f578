"""The size of the engine: defaults, derived numbers, refusals."""

import dataclasses
import re

import numpy as np
import pytest

from cdma import zvcplus
from cdma.engine_config import EngineConfig
from cdma.golden.zvcplus import compress
from cdma.hdl.engine import EngineConfig as Exported
from cdma.hdl.zvc.config import Config


def test_the_hardware_exports_the_same_class():
    assert Exported is EngineConfig


def test_defaults():
    config = EngineConfig()
    assert (config.channels, config.beat_bytes, config.link_bytes) == (4, 32, 16)
    assert (config.stripe_words, config.stripe_beats, config.block_bytes) == (1024, 128, 128)
    assert config.stripe_bound == 4096 + 128
    assert config.name == "4x8x32s4096l16"


@pytest.mark.parametrize("channels", [1, 2, 4, 8])
def test_the_sizes_of_the_specification(channels):
    config = EngineConfig(channels=channels)
    assert config.stage_bytes * channels == 16384 * channels
    assert config.reads * channels == 23 * channels
    slow = EngineConfig(channels=channels, latency=70)  # 350 ns at 200 MHz
    assert slow.stage_bytes == 8192
    assert slow.reads == 6


@pytest.mark.parametrize(
    ("lanes", "word_bits", "stripe", "distance"),
    [(8, 32, 4096, 32), (8, 32, 1024, 128), (8, 32, 65536, 32), (16, 64, 2048, 256)],
)
def test_auto_distance(lanes, word_bits, stripe, distance):
    config = EngineConfig(lanes=lanes, word_bits=word_bits, stripe_bytes=stripe)
    assert config.auto_distance == distance


def test_alignment():
    assert EngineConfig(channels=1).alignment == 32
    assert EngineConfig(channels=2).alignment == 4096


def test_channels_interleave_by_stripe():
    config = EngineConfig(channels=4)
    assert [config.channel(4096 * k) for k in range(6)] == [0, 1, 2, 3, 0, 1]
    assert config.channel(4096 * 7 + 5) == 3


@pytest.mark.parametrize("word_bits", [8, 16, 32, 64])
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])
def test_every_size_is_one_of_the_units(lanes, word_bits):
    beat = lanes * word_bits // 8
    if not 8 <= beat <= 128:
        with pytest.raises(ValueError, match=r"^Beat must have 8 to 128 bytes"):
            EngineConfig(lanes=lanes, word_bits=word_bits)
        return
    config = EngineConfig(lanes=lanes, word_bits=word_bits)
    assert Config(config.lanes, config.format).beat_bytes == config.beat_bytes
    assert config.link_bytes == max(8, min(64, beat // 2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"channels": 3}, ValueError, "Number of channels must be 1, 2, 4 or 8, not 3"),
        ({"channels": True}, TypeError, "Number of channels must be an integer, not True"),
        ({"lanes": 7}, ValueError, "Number of lanes must be 2, 4, 8, 16, 32 or 64, not 7"),
        ({"word_bits": 24}, ValueError, "Word width must be 8, 16, 32 or 64 bits, not 24"),
        (
            {"stripe_bytes": 3000},
            ValueError,
            "Stripe length must be 1024, 2048, 4096, 8192, 16384, 32768 or 65536, not 3000",
        ),
        ({"link_bytes": 4}, ValueError, "Link width in bytes must be 8, 16, 32 or 64, not 4"),
        ({"address_bits": 65}, ValueError, "Number of address bits must be in 32..64, not 65"),
        ({"latency": -1}, ValueError, r"Latency in cycles must be in 0..4096, not -1"),
        (
            {"stage_bytes": 3000},
            ValueError,
            "STAGE size in bytes must be a power of two, not 3000",
        ),
        (
            {"block_words": 512, "stage_bytes": 2048},
            ValueError,
            "STAGE must hold a block of 2048 bytes and a burst, 2716 bytes, not 2048 bytes",
        ),
        (
            {"block_words": 2048},
            ValueError,
            "Block length must be at most 1024 words and a multiple of the 8 lanes, not 2048",
        ),
        (
            {"block_words": 1024},
            ValueError,
            "Mask of a block must be at most 2 beats, not 32 words for 8 lanes",
        ),
        (
            {"block_words": 96},
            ValueError,
            "Stripe must be whole blocks of 384 bytes, not 4096 bytes",
        ),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error) as caught:
        EngineConfig(**arguments)
    assert str(caught.value) == message


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EngineConfig().channels = 2


@pytest.mark.parametrize(
    ("options", "channel", "link"),
    [({}, 32, 32), ({"latency": 70, "link_fifo_bytes": 4096}, 16, 16), ({"lanes": 32}, 128, 32)],
)
def test_writes_outstanding(options, channel, link):
    config = EngineConfig(**options)
    assert (config.channel_writes, config.link_writes) == (channel, link)
    assert config.channel_writes > config.reads


@pytest.mark.parametrize(("type_", "lanes", "bits"), [("fp32", 8, 32), ("bf16", 16, 16)])
def test_an_engine_of_zvcplus(type_, lanes, bits):
    config = EngineConfig(channels=1, codec="zvcplus", type=type_)
    assert (config.lanes, config.word_bits, config.beat_bytes) == (lanes, bits, 32)
    assert config.format == zvcplus.Format(type_)
    assert config.name == f"1x{lanes}x{bits}s4096l16-zvcplus-{type_}"
    assert config == EngineConfig(1, lanes, bits, codec="zvcplus", type=type_)
    assert [config.padded(size) for size in (0, 1, 4, 5)] == [0, bits // 8, 4, 4 + bits // 8]
    # 32 blocks of 1,029 bits are 4,116 bytes, one 129.
    assert (config.stripe_bound, config.bound(3 * 4096 + 4)) == (
        4116,
        3 * 4116 + config.padded(129),
    )


@pytest.mark.parametrize("stripe", [1024, 4096, 65536])
@pytest.mark.parametrize("type_", ["fp32", "fp16", "int8"])
def test_growth_covers_the_longest_streams(stripe, type_):
    config = EngineConfig(channels=1, stripe_bytes=stripe, codec="zvcplus", type=type_)
    noise = np.random.default_rng(0).integers(1, 1 << config.word_bits, config.stripe_words)
    noise = noise.astype(config.format.dtype)
    for words in (config.stripe_words, config.stripe_words - 1, config.lanes, 1):
        beats = -(-words // config.lanes)
        rows = -(-len(compress(noise[:words], config.format)) // config.beat_bytes)
        assert rows <= beats + config.growth_beats


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codec": "zip"}, "Codec must be zvc or zvcplus, not 'zip'"),
        ({"type": "fp32"}, "Element type is for codec zvcplus, not 'fp32'"),
        (
            {"codec": "zvcplus", "type": "fp64"},
            "Element type of an engine must be one of fp32, fp16, bf16, int8, not 'fp64'",
        ),
        (
            {"codec": "zvcplus", "lanes": 4},
            "Number of lanes must be 8 for fp32 of ZVC+, not 4",
        ),
        (
            {"codec": "zvcplus", "type": "bf16", "word_bits": 32},
            "Word width in bits must be 16 for bf16 of ZVC+, not 32",
        ),
        (
            {"codec": "zvcplus", "stage_bytes": 4096},
            "STAGE must be larger than a stripe of 4096 bytes with this codec, not 4096 bytes",
        ),
    ],
)
def test_refusals_of_codecs(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        EngineConfig(**arguments)
