"""Compressor into decompressor, Verilog to Verilog."""

from itertools import pairwise

import numpy as np
import pytest

from cdma.hdl.zvcplus.mixed.config import NAMED as MIXED
from cdma.sim import Scenario, stimulus
from cdma.sim.typed import shuffled

UNIT = "roundtrip"
STALLS = [
    "bernoulli:0.3",
    "bursts:9,4",
    {"command": "always-but-one:30"},
    {"sink": "paused:99"},
]


def under_back_pressure(packets):
    """A scenario of each kind of stall."""
    return [
        Scenario(packets, stall, seed, str(stall), is_dirty=True)
        for seed, stall in enumerate(STALLS)
    ]


def test_words_come_back(verify, some_config):
    packets = stimulus.packets(some_config, seed=20)
    (result,) = verify(UNIT, [Scenario(packets)], some_config)
    assert [packet.output for packet in result.packets] == [words.tobytes() for words in packets]


def test_words_come_back_under_back_pressure(verify, some_config):
    packets = stimulus.packets(some_config, seed=21)
    verify(UNIT, under_back_pressure(packets), some_config)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zvcplus-fp32+bf16", "zvcplus-all"])
def test_words_come_back_when_types_change_from_packet_to_packet(verify, name):
    config, rng = MIXED[name], np.random.default_rng(23)
    of_a_type = {number: stimulus.packets(part, seed=23) for number, part in config.parts.items()}
    packets = shuffled(of_a_type, rng)
    types = [packet.type for packet in packets]
    follow = {*pairwise(types)}
    assert len(follow) == len(config.parts) ** 2, "each type follows each"
    scenarios = [Scenario(packets), *under_back_pressure(packets)]
    for result in verify(UNIT, scenarios, config, simulator="fast"):
        found = [packet.output for packet in result.packets]
        assert found == [packet.packet.tobytes() for packet in packets]


def test_reset_in_the_middle_of_a_packet(verify, some_config):
    packets = stimulus.packets(some_config, seed=22)[:20]
    verify(UNIT, [Scenario(packets, reset_at=at) for at in (3, 11, 40, 90)], some_config)


@pytest.mark.slow
def test_words_come_back_in_every_configuration(verify, config):
    packets = [p for seed in range(4) for p in stimulus.packets(config, seed)]
    verify(UNIT, [Scenario(packets, stall, 5) for stall in ("never", "bernoulli:0.5")], config)
