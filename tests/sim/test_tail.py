"""Units for a tail of ones: the decompressor finds the end of a packet by itself."""

import numpy as np
import pytest
from sized import sized

from cdma.errors import UserError
from cdma.golden import ErrorCode
from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, stimulus

#: Looked up and counted masks, masks of two beats, blocks of one beat, networks of two stages.
SMALL = [Config.parse("2x8b8-ones"), Config.parse("2x8b8-ones-asic")]
LARGE = ["8x8b8-ones", "4x8b8-ones", "2x8b32-ones", "8x32-ones", "16x16-ones", "32x8-ones"]
LARGE += ["4x64-ones", "4x8b8-ones-asic", "2x8b32-ones-asic", "8x32-ones-asic", "16x16-ones-asic"]


@pytest.fixture(params=sized(SMALL, [Config.parse(name) for name in LARGE]))
def config(request):
    return request.param


STALLS = ["never", "bernoulli:0.4", {"sink": "bursts:4,9"}, {"source": "always-but-one:3"}]
STALLS += [{"status": "always-but-one:40"}]


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_matches_golden_model(verify, unit, config):
    packets = stimulus.fed(unit, stimulus.packets(config, 0), config)
    scenarios = [Scenario(packets, stall, 1, str(stall), is_dirty=True) for stall in STALLS]
    results = verify(unit, scenarios, config)
    assert len(results[0].packets) == len(packets)
    assert results[0].is_fast_enough


def test_malformed_streams_end_and_the_next_is_decoded(verify, config):
    packets = stimulus.malformed(config, np.random.default_rng(3))
    scenarios = [Scenario(packets, stall, 2, str(stall), is_dirty=True) for stall in STALLS[:3]]
    result, *_ = verify("decompressor", scenarios, config)
    codes = {packet.status[1] for packet in result.packets}
    assert codes == {ErrorCode.NONE, ErrorCode.TRUNCATED}


def test_packets_of_few_words(verify, config):
    """Every length up to two blocks, and null beats: the last word is in any lane of any beat."""
    fmt, rng = config.format, np.random.default_rng(5)
    lengths = range(min(2 * fmt.block_words + 2, 140))
    words = [stimulus.random_words(n, d, fmt, rng) for n in lengths for d in (0.0, 0.5, 1.0)]
    scenarios = [
        Scenario(stimulus.streams(words, config), stall, 7) for stall in ("never", "bernoulli:0.3")
    ]
    results = verify("decompressor", scenarios, config)
    assert [p.status[2] for p in results[0].packets] == [packet.size for packet in words]


@pytest.mark.slow
def test_round_trip(verify, config):
    packets = stimulus.packets(config, seed=21)
    verify("roundtrip", [Scenario(packets, stall, 3) for stall in STALLS], config)


@pytest.mark.slow
def test_reset_in_the_middle_of_a_packet(verify, config):
    packets = stimulus.fed("decompressor", stimulus.packets(config, 8)[:12], config)
    verify("decompressor", [Scenario(packets, reset_at=at) for at in (3, 11, 40, 90)], config)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_under_cocotb(verify, simulator, icarus):
    config = Config.parse("8x32-ones")
    packets = stimulus.malformed(config, np.random.default_rng(4))[:60]
    verify("decompressor", [Scenario(packets, "bernoulli:0.3", 3)], config, simulator=simulator)


def test_a_word_count_is_refused(verify):
    with pytest.raises(UserError, match=r"must have None as its number of words, not 3"):
        verify("decompressor", [Scenario([(b"", 3)])], Config.parse("2x8b8-ones"))
