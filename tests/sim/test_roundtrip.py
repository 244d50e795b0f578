"""Compressor into decompressor, Verilog to Verilog."""

import pytest

from cdma.sim import Scenario, stimulus

UNIT = "roundtrip"


def test_words_come_back(verify, some_config):
    packets = stimulus.packets(some_config, seed=20)
    (result,) = verify(UNIT, [Scenario(packets)], some_config)
    assert [packet.output for packet in result.packets] == [words.tobytes() for words in packets]


def test_words_come_back_under_back_pressure(verify, some_config):
    packets = stimulus.packets(some_config, seed=21)
    stalls = [
        "bernoulli:0.3",
        "bursts:9,4",
        {"command": "always-but-one:30"},
        {"sink": "paused:99"},
    ]
    scenarios = [
        Scenario(packets, stall, seed, str(stall), is_dirty=True)
        for seed, stall in enumerate(stalls)
    ]
    verify(UNIT, scenarios, some_config)


def test_reset_in_the_middle_of_a_packet(verify, some_config):
    packets = stimulus.packets(some_config, seed=22)[:20]
    verify(UNIT, [Scenario(packets, reset_at=at) for at in (3, 11, 40, 90)], some_config)


@pytest.mark.slow
def test_words_come_back_in_every_configuration(verify, config):
    packets = [p for seed in range(4) for p in stimulus.packets(config, seed)]
    verify(UNIT, [Scenario(packets, stall, 5) for stall in ("never", "bernoulli:0.5")], config)
