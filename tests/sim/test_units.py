"""The Verilog of both units against the golden model, their contract and their promises."""

import numpy as np
import pytest
from sized import sized

from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, stimulus
from cdma.sim.backpressure import UNIT_PORTS

UNIT = pytest.mark.parametrize("unit", ["compressor", "decompressor"])

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


def packets_of(unit, config, seed, count=None):
    return stimulus.fed(unit, stimulus.packets(config, seed)[:count], config)


def blocks_of(config, rng, densities):
    """Blocks of these densities, an array each."""
    fmt = config.format
    return [stimulus.random_words(fmt.block_words, density, fmt, rng) for density in densities]


@UNIT
def test_matches_golden_model(verify, unit, config):
    packets = packets_of(unit, config, 0)
    (result,) = verify(unit, [Scenario(packets)], config)
    assert len(result.packets) == len(packets)


@UNIT
@pytest.mark.parametrize("config", sized([Config.of(8, 32)], [Config.of(4, 8, 16)]))
def test_packets_of_every_power_of_two(verify, unit, config):
    """One bit of the count is set, which no comparison of it may leave out."""
    words = stimulus.random_words(1 << 16, 0.5, config.format, np.random.default_rng(7))
    packets = stimulus.fed(unit, [words[: 1 << bit] for bit in range(17)], config)
    (result,) = verify(unit, [Scenario(packets)], config, simulator="fast")
    assert len(result.packets) == len(packets)


@UNIT
def test_does_not_look_where_it_must_not(verify, unit, some_config):
    packets = packets_of(unit, some_config, 1)
    scenarios = [Scenario(packets, stall, is_dirty=True) for stall in ("never", "alternating")]
    verify(unit, scenarios, some_config)


@UNIT
def test_back_pressure_changes_nothing(verify, unit, some_config):
    packets = packets_of(unit, some_config, 2, 40)
    stalls = {
        name: stall
        for name, stall in STALLS.items()
        if isinstance(stall, str) or set(stall) <= set(UNIT_PORTS[unit])
    }
    scenarios = [
        Scenario(packets, stall, seed, name) for seed, (name, stall) in enumerate(stalls.items())
    ]
    results = verify(unit, scenarios, some_config)
    held_up = [result for result in results if "source" not in result.scenario.name]
    assert all(sum(result.stalls.values()) for result in held_up)


@UNIT
def test_throughput_of_each_packet(verify, unit, some_config):
    rng = np.random.default_rng(4)
    packets = stimulus.block_mix_packets(some_config, rng) + stimulus.place_packets(some_config)
    results = verify(
        unit,
        [Scenario([packet]) for packet in stimulus.fed(unit, packets, some_config)],
        some_config,
    )
    assert all(result.is_fast_enough for result in results)


def test_the_smallest_decompressor_in_cells_is_fast_enough(verify):
    """Its ring has a row more than that of other sizes, for dense packets."""
    config = Config.parse("2x8b8-asic")
    scenarios = [
        Scenario(stimulus.fed("decompressor", stimulus.packets(config, seed), config))
        for seed in range(4)
    ]
    results = verify("decompressor", scenarios, config)
    assert all(result.is_fast_enough for result in results)


@UNIT
def test_back_to_back_packets_overlap(verify, unit, some_config):
    rng = np.random.default_rng(5)
    short = [
        stimulus.random_words(n, 0.5, some_config.format, rng)
        for n in (1, 0, some_config.lanes, 2) * 25
    ]
    blocks = blocks_of(some_config, rng, (0.0, 1.0, 0.3) * 20)
    scenarios = [Scenario(stimulus.fed(unit, packets, some_config)) for packets in (short, blocks)]
    results = verify(unit, scenarios, some_config)
    assert all(result.is_fast_enough for result in results)


@pytest.mark.parametrize(
    ("unit", "port"),
    [
        (unit, port)
        for unit in ("compressor", "decompressor")
        for port in UNIT_PORTS[unit]
        if port != "status"
    ],
)
def test_stall_costs_no_more_than_it_lasts(verify, unit, some_config, port):
    blocks = blocks_of(
        some_config, np.random.default_rng(6), (0.5, 1.0, 0.0, 0.2, 0.9, 0.0, 0.7) * 2
    )
    packets = stimulus.fed(unit, [np.concatenate(blocks)], some_config)
    stalls = [(cycles, at) for cycles in (1, 3, 17) for at in range(0, 60, 4)]
    scenarios = [Scenario(packets)] + [
        Scenario(packets, {port: f"paused:{cycles},{at}"}) for cycles, at in stalls
    ]
    undisturbed, *results = verify(unit, scenarios, some_config)
    for (cycles, at), result in zip(stalls, results, strict=True):
        assert result.cycles <= undisturbed.cycles + cycles, f"{cycles} cycles in cycle {at}"


@UNIT
def test_valid_does_not_wait_for_ready(verify, unit, some_config):
    packets = packets_of(unit, some_config, 7, 20)
    scenarios = [Scenario(packets, {port: "paused:1000"}) for port in ("sink", "status")]
    sink, status = verify(unit, scenarios, some_config)
    assert sink.stalls["m_axis"] > 700
    assert status.stalls["m_axis_sts"] > 700


@UNIT
def test_status_not_taken_holds_packets_back(verify, unit, some_config):
    packets = stimulus.fed(unit, [np.ones(1, some_config.format.dtype)] * 60, some_config)
    (result,) = verify(unit, [Scenario(packets, {"status": "paused:500"})], some_config)
    assert result.packets[0].status_cycle >= 500
    # Two statuses wait in the unit and one is due: the fourth packet's beat is held.
    assert [packet.last_cycle > 500 for packet in result.packets[:5]] == [0, 0, 0, 1, 1]


@UNIT
def test_reset_in_the_middle_of_a_packet(verify, unit, some_config):
    packets = packets_of(unit, some_config, 8, 25)
    scenarios = [
        Scenario(packets, stall, reset_at=at, name=f"reset in cycle {at}")
        for at in (1, 2, 3, 5, 8, 13, 21, 34, 55)
        for stall in ("never", "bernoulli:0.5")
    ]
    verify(unit, scenarios, some_config)


@UNIT
def test_icarus_agrees(verify, icarus, unit, some_config):
    packets = packets_of(unit, some_config, 9, 30)
    if unit == "decompressor":
        packets += stimulus.malformed(some_config, np.random.default_rng(9))[::9]
    scenarios = [Scenario(packets), Scenario(packets, "bernoulli:0.4", is_dirty=True)]
    verify(unit, scenarios, some_config, simulator=icarus)


@pytest.mark.slow
@UNIT
@pytest.mark.parametrize("seed", range(2))
def test_long_random_run(verify, unit, config, seed):
    rng = np.random.default_rng(seed)
    packets = [p for part in range(2) for p in packets_of(unit, config, 100 * seed + part)]
    if unit == "decompressor":
        packets += stimulus.malformed(config, rng)
    packets = [packets[index] for index in rng.permutation(len(packets))]
    stalls = ["never", "bernoulli:0.5", "bernoulli:0.05", "bursts:20,3", "paused:1000"]
    stalls += [{port: "bernoulli:0.6"} for port in UNIT_PORTS[unit]]
    scenarios = [Scenario(packets, stall, seed, str(stall), is_dirty=True) for stall in stalls]
    verify(unit, scenarios, config)
