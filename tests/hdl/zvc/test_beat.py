"""Layouts of what travels on the streams, and thermometer codes."""

import pytest

from cdma.hdl.zvc.beat import (
    Beat,
    CompressorStatus,
    DecompressorCommand,
    DecompressorStatus,
    Row,
    count_thermometer,
    thermometer,
)
from cdma.hdl.zvc.config import Config


def fields(layout):
    """Offset and width of each member, in bits."""
    return {name: (field.offset, field.width) for name, field in layout}


@pytest.mark.parametrize("config", [Config.of(8, 32), Config.of(2, 8, 32), Config.of(64, 8, 64)])
def test_beat_has_words_then_keep_then_last(config):
    bits, size = config.beat_bits, config.beat_bytes
    assert fields(Beat(config)) == {
        "words": (0, bits),
        "keep": (bits, size),
        "last": (bits + size, 1),
    }
    words = Beat(config)["words"].shape
    for lane in range(config.lanes):
        assert words[lane].offset == lane * config.format.word_bits
        assert words[lane].width == config.format.word_bits


@pytest.mark.parametrize("lanes", [2, 8, 64])
def test_row_keeps_whole_words(lanes):
    config = Config.of(lanes, 32, 64)
    assert fields(Row(config)) == {
        "words": (0, config.beat_bits),
        "keep": (config.beat_bits, lanes),
        "last": (config.beat_bits + lanes, 1),
    }


def test_records_are_laid_out_as_the_interfaces_say():
    assert fields(CompressorStatus()) == {"words": (0, 32), "bytes": (32, 32)}
    assert fields(DecompressorCommand()) == {"words": (0, 32)}
    assert fields(DecompressorStatus()) == {"bytes": (0, 32), "error": (32, 8)}


@pytest.mark.parametrize("width", [1, 2, 3, 8, 31, 32, 64])
@pytest.mark.parametrize("count_bits", [1, 4, 6, 7])
def test_thermometer(compute, width, count_bits):
    counts = range(1 << count_bits)
    bits = compute(lambda m, count: thermometer(count, width), count_bits, counts)
    assert bits == [(1 << min(count, width)) - 1 for count in counts]


@pytest.mark.parametrize("width", [1, 2, 3, 8, 12, 32, 64])
def test_count_thermometer(compute, width):
    values = [(1 << count) - 1 for count in range(width + 1)]
    assert compute(lambda m, bits: count_thermometer(bits), width, values) == list(range(width + 1))
