"""The decompressor's Verilog against the golden model, on good streams and on bad ones."""

import numpy as np
import pytest

from cdma.golden import ErrorCode
from cdma.sim import Scenario, stimulus

UNIT = "decompressor"

STALLS = {
    "all ports, seldom": "bernoulli:0.2",
    "all ports, often": "bernoulli:0.8",
    "in bursts": "bursts:5,7",
    "every second cycle": "alternating",
    "slow sink": {"sink": "always-but-one:5"},
    "slow source": {"source": "always-but-one:3"},
    "slow status": {"status": "always-but-one:40"},
    "slow commands": {"command": "always-but-one:40"},
    "late commands": {"command": "paused:300"},
    "late sink": {"sink": "paused:150"},
}


def good_streams(config, seed, count=None):
    return stimulus.streams(stimulus.packets(config, seed)[:count], config)


def test_matches_golden_model(verify, config):
    packets = good_streams(config, 0)
    (result,) = verify(UNIT, [Scenario(packets)], config)
    assert [packet.status[1] for packet in result.packets] == [ErrorCode.NONE] * len(packets)


def test_does_not_look_where_it_must_not(verify, config):
    packets = good_streams(config, 1)
    verify(
        UNIT,
        [Scenario(packets, stall, is_dirty=True) for stall in ("never", "alternating")],
        config,
    )


def test_back_pressure_changes_nothing(verify, config):
    packets = good_streams(config, 2, 40)
    scenarios = [
        Scenario(packets, stall, seed, name) for seed, (name, stall) in enumerate(STALLS.items())
    ]
    verify(UNIT, scenarios, config)


def test_malformed_streams_end_and_the_next_is_decoded(verify, config):
    packets = stimulus.malformed(config, np.random.default_rng(3))
    (result,) = verify(UNIT, [Scenario(packets)], config)
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


def test_throughput_of_each_packet(verify, config):
    rng = np.random.default_rng(4)
    packets = stimulus.block_mix_packets(config, rng) + stimulus.place_packets(config)
    scenarios = [Scenario([packet]) for packet in stimulus.streams(packets, config)]
    results = verify(UNIT, scenarios, config)
    assert all(result.is_fast_enough for result in results)


def test_back_to_back_packets_overlap(verify, config):
    rng = np.random.default_rng(5)
    fmt = config.format
    short = [stimulus.random_words(n, 0.5, fmt, rng) for n in (1, 0, config.lanes, 2) * 25]
    blocks = [stimulus.random_words(fmt.block_words, d, fmt, rng) for d in (0.0, 1.0, 0.3) * 20]
    scenarios = [Scenario(stimulus.streams(packets, config)) for packets in (short, blocks)]
    results = verify(UNIT, scenarios, config)
    assert all(result.is_fast_enough for result in results)


@pytest.mark.parametrize("port", ["source", "sink", "command"])
def test_stall_costs_no_more_than_it_lasts(verify, some_config, port):
    rng = np.random.default_rng(6)
    blocks = [
        stimulus.random_words(some_config.format.block_words, density, some_config.format, rng)
        for density in (0.5, 1.0, 0.0, 0.2, 0.9, 0.0, 0.7) * 2
    ]
    packets = stimulus.streams([np.concatenate(blocks)], some_config)
    stalls = [(cycles, at) for cycles in (1, 3, 17) for at in range(0, 60, 4)]
    scenarios = [Scenario(packets)] + [
        Scenario(packets, {port: f"paused:{cycles},{at}"}) for cycles, at in stalls
    ]
    undisturbed, *results = verify(UNIT, scenarios, some_config)
    for (cycles, at), result in zip(stalls, results, strict=True):
        assert result.cycles <= undisturbed.cycles + cycles, f"{cycles} cycles in cycle {at}"


def test_valid_does_not_wait_for_ready(verify, some_config):
    packets = good_streams(some_config, 7, 20)
    sink, status = verify(
        UNIT,
        [Scenario(packets, {"sink": "paused:1000"}), Scenario(packets, {"status": "paused:1000"})],
        some_config,
    )
    assert sink.stalls["m_axis"] > 700
    assert status.stalls["m_axis_sts"] > 700


def test_status_not_taken_holds_packets_back(verify, some_config):
    packets = stimulus.streams([np.ones(1, some_config.format.dtype)] * 60, some_config)
    (result,) = verify(UNIT, [Scenario(packets, {"status": "paused:500"})], some_config)
    assert result.packets[0].status_cycle >= 500
    assert result.packets[-1].last_cycle > 500


def test_reset_in_the_middle_of_a_packet(verify, some_config):
    packets = good_streams(some_config, 8, 25)
    scenarios = [
        Scenario(packets, stall, reset_at=at, name=f"reset in cycle {at}")
        for at in (1, 2, 3, 5, 8, 13, 21, 34, 55)
        for stall in ("never", "bernoulli:0.5")
    ]
    verify(UNIT, scenarios, some_config)


def test_reset_while_a_bad_stream_is_drained(verify, some_config):
    wrong = [(bytes(200 * some_config.beat_bytes), 3), *good_streams(some_config, 8, 3)]
    scenarios = [Scenario(wrong, reset_at=at) for at in (6, 20, 60, 150)]
    verify(UNIT, scenarios, some_config)


def test_icarus_agrees(verify, icarus, some_config):
    packets = good_streams(some_config, 9, 30)
    packets += stimulus.malformed(some_config, np.random.default_rng(9))[::9]
    scenarios = [Scenario(packets), Scenario(packets, "bernoulli:0.4", is_dirty=True)]
    verify(UNIT, scenarios, some_config, simulator=icarus)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_long_random_run(verify, config, seed):
    rng = np.random.default_rng(seed)
    packets = good_streams(config, 100 + seed) + stimulus.malformed(config, rng)
    packets = [packets[index] for index in rng.permutation(len(packets))]
    stalls = ["never", "bernoulli:0.5", "bernoulli:0.05", "bursts:20,3", "paused:1000"]
    stalls += [{port: "bernoulli:0.6"} for port in ("source", "sink", "status", "command")]
    scenarios = [Scenario(packets, stall, seed, str(stall), is_dirty=True) for stall in stalls]
    verify(UNIT, scenarios, config)
