"""The lower bound of cycles: closed forms where there is one, order, refusals."""

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.golden import engine

WORDS = 1 << 17


def at_density(density, seed=1, count=WORDS):
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 1 << 32, count, dtype=np.uint32)
    words[rng.random(count) >= density] = 0
    return words


@pytest.mark.parametrize("channels", [1, 2, 4, 8])
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("direction", ["offload", "prefetch"])
def test_uniform_density_meets_the_slower_of_codec_and_link(channels, density, direction):
    config = EngineConfig(channels=channels)
    words = at_density(density)
    size = engine.offload(words, config, raw="never").bytes
    beats = max(words.nbytes, size) // (channels * config.beat_bytes)
    slower = max(beats, size // config.link_bytes)
    bound = engine.cycles(words, config, raw="never", direction=direction)
    assert slower <= bound <= 1.01 * slower + config.latency + 2 * config.stripe_beats


def test_offload_waits_for_the_latency_once():
    config = EngineConfig(channels=2)
    words = at_density(0.5)
    without = engine.cycles(words, config, latency=0)
    assert engine.cycles(words, config, latency=300) - without == 300
    back = engine.cycles(words, config, direction="prefetch")
    assert engine.cycles(words, config, direction="prefetch", host_latency=200) - back == 200


def test_a_pitch_that_hits_one_channel_has_one_channel():
    config = EngineConfig(channels=4)
    words = np.zeros(64 * 1024, np.uint32)
    spread = engine.cycles(words, config, rows=64, pitch=4096)
    crowded = engine.cycles(words, config, rows=64, pitch=4 * 4096)
    assert spread == 350 + 16 * 128 + 3 * 8  # the last four streams pass the link in order
    assert crowded == 350 + 64 * 128


def test_a_small_stage_costs_cycles_when_halves_differ():
    words = np.concatenate([at_density(1.0, count=1 << 16), np.zeros(1 << 16, np.uint32)])
    words = words.reshape(2, -1, 1024).transpose(1, 0, 2).reshape(-1)  # alternating stripes
    small = engine.cycles(words, EngineConfig(channels=2, stage_bytes=4096), raw="never")
    large = engine.cycles(words, EngineConfig(channels=2, stage_bytes=65536), raw="never")
    assert small > large


def test_auto_pays_for_the_counts_it_waits_for():
    config = EngineConfig(channels=8, link_bytes=64)
    words = np.zeros(256 * 1024, np.uint32)
    never = engine.cycles(words, config, raw="never", latency=1000)
    assert engine.cycles(words, config, raw="auto", latency=1000) > never


@pytest.mark.parametrize("direction", ["offload", "prefetch"])
def test_nothing_takes_no_cycle(direction):
    assert engine.cycles(np.zeros(0, np.uint32), EngineConfig(), direction=direction) == 0


def test_one_word():
    config = EngineConfig()
    assert engine.cycles(np.ones(1, np.uint32), config) == 351
    assert engine.cycles(np.ones(1, np.uint32), config, direction="prefetch") == 1


def test_refusals():
    words = np.zeros(2048, np.uint32)
    with pytest.raises(ValueError, match=r"^Direction must be offload or prefetch, not 'both'$"):
        engine.cycles(words, EngineConfig(), direction="both")
    with pytest.raises(ValueError, match=r"^Rows must be whole stripes, not 8192 bytes in 3 rows$"):
        engine.cycles(words, EngineConfig(), rows=3, pitch=4096)
