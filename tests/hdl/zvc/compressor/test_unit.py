"""What only the compressor promises as a component; what both units do: ``test_units.py``."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config

SMALL = [Config.of(4, 16), Config.of(2, 8, 32), Config.of(8, 8, 8)]
SOME = pytest.mark.parametrize("config", SMALL, ids=[config.name for config in SMALL])


def test_the_lowest_byte_decides_whether_a_word_is_kept(exchange, packets_of):
    config = Config.of(2, 32)
    beat = {"words": [5, 7], "keep": 0b0001_1111, "last": 1}
    passed = exchange(Compressor(config), {"i": [beat]}, {"o": 2, "o_status": 1})
    assert packets_of(passed["o"].payloads, config) == [bytes([3, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0])]
    assert passed["o_status"].payloads == [{"words": 2, "bytes": 12}]


@SOME
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5"])
def test_a_stream_of_whole_beats_has_no_empty_beat_behind(run_unit, case, rng, config, stalls):
    """However many zeros follow the word that fills the last beat."""
    block, lanes = config.format.block_words, config.lanes
    filling = -config.format.mask_words % lanes  # words that fill up a beat with their mask
    cases = []
    for nonzeros in range(filling, block, max(lanes, block // 8 // lanes * lanes)):
        words = np.zeros(
            block + int(rng.integers(max(1, nonzeros), block + 1)), config.format.dtype
        )
        words[:filling] = 1
        words[block : block + nonzeros] = 1
        cases.append(case.of(Compressor, words, config))
        assert len(cases[-1].given) % config.beat_bytes == 0
    run_unit(Compressor, cases, config, stalls=stalls)


@SOME
def test_an_empty_last_beat_behind_whole_blocks_has_no_mask(exchange, packets_of, config):
    words = np.ones(config.format.block_words, config.format.dtype)
    whole = (1 << config.beat_bytes) - 1
    beats = [
        {"words": [1] * config.lanes, "keep": whole, "last": 0} for _ in range(config.block_beats)
    ]
    beats.append({"words": [1] * config.lanes, "keep": 0, "last": 1})
    stream = compress(words, config.format).tobytes()
    owed = {"o": len(stream) // config.beat_bytes + 1, "o_status": 1}
    passed = exchange(Compressor(config), {"i": beats}, owed)
    assert packets_of(passed["o"].payloads, config) == [stream]
    assert passed["o_status"].payloads == [{"words": words.size, "bytes": len(stream)}]
