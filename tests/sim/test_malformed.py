"""The decompressor's Verilog on streams that are not as they should be."""

import numpy as np

from cdma.golden import ErrorCode
from cdma.sim import Scenario, stimulus

UNIT = "decompressor"


def test_malformed_streams_end_and_the_next_is_decoded(verify, some_config):
    packets = stimulus.malformed(some_config, np.random.default_rng(3))
    (result,) = verify(UNIT, [Scenario(packets)], some_config)
    codes = {packet.status[1] for packet in result.packets}
    assert codes == {
        ErrorCode.NONE,
        ErrorCode.TRUNCATED,
        ErrorCode.TRAILING,
        ErrorCode.MASK_PAST_END,
    }


def test_malformed_streams_under_back_pressure(verify, some_config):
    packets = stimulus.malformed(some_config, np.random.default_rng(13))
    scenarios = [
        Scenario(packets, stall, seed, str(stall), is_dirty=True)
        for seed, stall in enumerate(("bernoulli:0.4", {"sink": "bursts:4,9"}))
    ]
    verify(UNIT, scenarios, some_config)


def test_reset_while_a_bad_stream_is_drained(verify, some_config):
    good = stimulus.streams(stimulus.packets(some_config, 8)[:3], some_config)
    wrong = [(bytes(200 * some_config.beat_bytes), 3), *good]
    scenarios = [Scenario(wrong, reset_at=at) for at in (6, 20, 60, 150)]
    verify(UNIT, scenarios, some_config)


def test_packets_that_come_in_while_one_is_cut_short(verify, config):
    # Its rows are free long before its blocks are given out: more packets wait than the ring has
    # rows, and the end of none may be lost.
    short = [(b"", 0)] * 12
    packets = [(b"", config.format.block_words * 8 + 1), *short, (b"", 1)]
    verify(UNIT, [Scenario(packets), Scenario(packets, {"sink": "bursts:3,9"})], config)
