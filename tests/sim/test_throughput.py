"""The throughput rule as a function of the data."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.sim.throughput import most_cycles, packet_beats

CONFIG = Config.of(8, 32)


def words(*densities, config=CONFIG):
    rng = np.random.default_rng(5)
    block = config.format.block_words
    parts = [stimulus.random_words(block, density, config.format, rng) for density in densities]
    return np.concatenate(parts)


def beats(packet, config):
    data = -(-packet.size // config.lanes)
    stream = -(-compress(packet, config.format).size // config.beat_bytes)
    return data, stream


def test_empty_packet_takes_its_one_beat():
    assert packet_beats(np.array([], "<u4"), CONFIG) == 1


def test_sparse_packet_takes_its_data_beats():
    packet = words(*[0.5] * 10)
    assert packet_beats(packet, CONFIG) == max(beats(packet, CONFIG)) == 40


def test_dense_packet_takes_its_stream_beats():
    packet = words(*[1.0] * 10)
    assert packet_beats(packet, CONFIG) == max(beats(packet, CONFIG)) == 42


def test_mixed_packet_takes_the_slower_side_of_each_block():
    packet = words(*[1.0] * 8, *[0.0] * 8)
    assert max(beats(packet, CONFIG)) == 64
    assert packet_beats(packet, CONFIG) == 65


def test_partial_block_counts_its_own_beats():
    assert packet_beats(np.ones(33, "<u4"), CONFIG) == 6
    assert packet_beats(np.zeros(33, "<u4"), CONFIG) == 5
    assert packet_beats(np.ones(1, "<u4"), CONFIG) == 1


@pytest.mark.parametrize("config", [CONFIG, Config.of(32, 8), Config.of(2, 8, 32)])
def test_never_less_than_either_side(config):
    for packet in stimulus.packets(config):
        assert packet_beats(packet, config) >= max(beats(packet, config))


def test_back_to_back_packets_pay_the_latency_once():
    packets = [words(1.0), words(0.0), np.array([], "<u4")]
    assert most_cycles(packets, CONFIG, 9) == 5 + 4 + 1 + 9
