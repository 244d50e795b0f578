"""What only the decompressor promises as a component; what both units do: ``test_units.py``."""

import pytest

from cdma.format import ErrorCode
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.sim.stimulus import random_words

SMALL = [Config.of(4, 16), Config.of(2, 8, 32), Config.of(8, 8, 8)]
SOME = pytest.mark.parametrize("config", SMALL, ids=[config.name for config in SMALL])


@SOME
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_errors_do_not_outlive_their_packet(run_unit, case, rng, config, stalls):
    fmt, size = config.format, config.format.word_bytes
    good = case.of(Decompressor, random_words(fmt.block_words + 3, 0.5, fmt, rng), config)
    item = case.of(Decompressor, random_words(2, 1.0, fmt, rng), config)
    content, words, zeros = item.sent, item.given, bytes(2 * size)
    past_end = bytes([content[0] | 8]) + content[1:]
    cases = [
        case(content[:-1], words[:size] + zeros[size:], _status(0, "TRUNCATED"), 2),
        case(b"", zeros, _status(0, "TRUNCATED"), 2),
        case(content + b"\0", words, _status(len(content), "TRAILING"), 2),
        case(past_end, words, _status(0, "MASK_PAST_END"), 2),
        case(content, b"", _status(0, "TRAILING"), 0),
        case(content[: fmt.mask_bytes - 1], zeros, _status(0, "TRUNCATED"), 2),
        case(content + bytes(9 * config.beat_bytes), words, _status(len(content), "TRAILING"), 2),
    ]
    run_unit(Decompressor, [x for bad in cases for x in (bad, good)], config, stalls=stalls)


@SOME
def test_a_command_may_come_late_or_early(run_unit, case, rng, config):
    words = [random_words(count, 0.5, config.format, rng) for count in (1, 9, 0, 20)]
    cases = [case.of(Decompressor, packet, config) for packet in words]
    for port in ("i", "i_command"):
        passed = run_unit(Decompressor, cases, config, stalls={port: "paused:40"})
        assert passed[port].cycles[0] == 40 < passed["o"].cycles[0]


def _status(length, error):
    return {"bytes": length, "error": ErrorCode[error]}
