"""Functional coverage: the stimulus of the regression covers all bins, and no other value."""

import re
from itertools import pairwise, product

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, SimulationError, stimulus
from cdma.verify.coverage.functional import measure
from cdma.verify.coverage.points import (
    PHASES,
    STALLS,
    Coverage,
    Point,
    impossible,
    length_class,
)
from cdma.verify.coverage.scenarios import scenarios
from cdma.verify.coverage.zvc import packet, points

UNIT = pytest.mark.parametrize("unit", ["compressor", "decompressor"])
CONFIG = Config.of(8, 32)
SMALL = Config.of(4, 16, 32)


def seen(unit, scenario, config=SMALL):
    """Bins that one scenario covers, by point."""
    found = measure(unit, config, [scenario])
    return {name: dict(point.hits) for name, point in found.points.items()}


def described(coverage):
    return {p.name: (p.missing, p.unexpected) for p in coverage.points.values()}


@UNIT
def test_everything_is_seen(unit):
    coverage = measure(unit, CONFIG, scenarios(unit, CONFIG))
    assert coverage.is_complete, described(coverage)


@pytest.mark.slow
@UNIT
@pytest.mark.parametrize("size", [(2, 8, 32), (4, 16), (16, 16), (32, 8), (8, 32, 96)], ids=str)
def test_everything_is_seen_at_other_sizes(unit, size):
    config = Config.of(*size)
    coverage = measure(unit, config, scenarios(unit, config, seed=1))
    assert coverage.is_complete, described(coverage)


def test_what_a_packet_shows():
    # A block with words 1, 2 and 5 after a mask of two words, and a partial block with word 6.
    words = np.zeros(39, "<u2")
    words[[1, 2, 5, 32 + 6]] = 7
    found = seen("compressor", Scenario([words]))
    assert found["words of a beat's mask"] == {2: 1, 1: 2, 0: 7}
    assert found["lane of a beat's first word x words"] == {(2, 2): 1, (0, 1): 1, (3, 1): 1}
    assert found["lane of the mask x block"] == {(0, "mixed"): 1, (1, "mixed"): 1}
    assert found["block x next block"] == {("mixed", "mixed"): 1}
    assert found["words of a packet's last beat"] == {3: 1}
    assert found["words of a packet's last block"] == {7: 1}
    assert found["words of a stream's last beat"] == {4: 1}
    assert found["length x next length, back to back"] == {}
    # The decompressor covers the same bins.
    stream = compress(words, SMALL.format)
    back = seen("decompressor", Scenario([(bytes(stream), words.size)]))
    for name in found:
        if name not in ("beat that the sink stalls", "statuses not taken", "stall x phase"):
            assert back[name] == found[name], name
    assert back["error"] == {"NONE": 1}


def test_packets_are_back_to_back_when_the_source_does_not_pause():
    packets = [np.ones(count, "<u2") for count in (0, 1, 4, 5, 32, 33, 64)]
    name = "length x next length, back to back"
    classes = [length_class(packet.size, SMALL) for packet in packets]
    assert len(set(classes)) == 7
    assert seen("compressor", Scenario(packets))[name] == dict.fromkeys(pairwise(classes), 1)
    # Stalls of the sink do not separate packets, pauses of the source do.
    assert len(seen("compressor", Scenario(packets, {"sink": "alternating"}))[name]) == 6
    assert seen("compressor", Scenario(packets, {"source": "alternating"}))[name] == {}


def test_errors_are_distinguished():
    words = stimulus.random_words(70, 0.5, SMALL.format, np.random.default_rng(0))
    stream = bytes(compress(words, SMALL.format))
    first = 4 + 2 * np.count_nonzero(words[:32])
    last = len(stream) - 4 - 2 * np.count_nonzero(words[64:])
    packets = [
        (stream, 70),
        (b"", 70),
        (stream[: first - 1], 70),
        (stream[:last], 70),
        (stream[: last + 3], 70),
        (stream[: last + 4], 70),
        (stream + b"1", 70),
        (stream + b"12" * 40, 70),
        (b"1" * 9, 0),
        (b"\0\0\0\x80", 31),
        (b"\0\0\0\x80" + b"12" * 2, 31),
    ]
    found = seen("decompressor", Scenario(packets))
    assert found["error"] == {"NONE": 1, "TRUNCATED": 5, "TRAILING": 3, "MASK_PAST_END": 2}
    assert found["truncated x block"] == {
        ("before the mask", "first block"): 1,
        ("in a word", "first block"): 1,
        ("before the mask", "last block"): 1,
        ("in the mask", "last block"): 1,
        ("behind the mask", "last block"): 1,
    }
    assert sum(found["trailing x whole words"].values()) == 3
    assert found["trailing behind no words"] == {True: 1}
    assert found["mask bit past the end x stream"] == {(7, "too short"): 1, (7, "too long"): 1}
    assert found["error x next error, back to back"]["NONE", "TRUNCATED"] == 1


def test_phases_of_a_packet():
    words = np.ones(40, "<u2")
    quiet = seen("compressor", Scenario([words]))["stall x phase"]
    assert {phase for _, phase in quiet} == {"idle", "whole", "emptying", "reporting"}
    paused = Scenario([words], {"sink": "paused:100", "status": "paused:150"})
    found = seen("compressor", paused)["stall x phase"]
    assert found["sink stalls", "whole"] > 50
    assert found["status stalls", "reporting"] > 20
    stream = bytes(compress(words, SMALL.format))
    packets = [(stream, 40), (bytes(compress(words[:4], SMALL.format)), 4)]
    late = [seen("decompressor", Scenario([p], {"command": "paused:100"})) for p in packets]
    assert all(each["stall x phase"]["command pauses", "uncommanded"] > 50 for each in late)
    # The longer stream does not fit into the ring.
    orders = [each["command, next to its packet's beats"] for each in late]
    assert orders == [{"between": 1}, {"behind": 1}]
    cut = seen("decompressor", Scenario([(stream[:70], 80)], {"sink": "bernoulli:0.5"}))
    assert cut["stall x phase"]["sink stalls", "padding"] > 0
    long = seen("decompressor", Scenario([(stream + bytes(400), 40)], {"source": "bernoulli:0.5"}))
    assert long["stall x phase"]["source pauses", "draining"] > 5


@UNIT
def test_only_what_cannot_be_is_left_out(unit):
    (point,) = (p for p in points(unit, CONFIG) if p.name == "stall x phase")
    for pair in product(STALLS[unit], PHASES[unit]):
        assert (pair in point.bins) is (impossible(*pair) == "")
    assert len(point.bins) > len(STALLS[unit]) * len(PHASES[unit]) / 2


def test_what_is_missing_is_named():
    coverage = measure("compressor", SMALL, [Scenario([np.ones(4, "<u2")])])
    assert not coverage.is_complete
    assert coverage.points["words of a beat's mask"].missing == [0, 1, 2, 3]


def test_what_should_be_impossible_is_reported():
    point = Point("x", [1, 2])
    coverage = Coverage("compressor", SMALL, {"x": point})
    coverage.hit("x", [1, 2, 3])
    assert (point.missing, point.unexpected) == ([], [3])
    assert not coverage.is_complete


def test_a_unit_that_is_wrong_is_not_measured():
    verilog = emit.verilog("compressor", SMALL)
    verilog = re.sub(r"assign m_axis_tdata = (.*?);", r"assign m_axis_tdata = (\1) ^ 1;", verilog)
    with pytest.raises(SimulationError, match=r"^compressor 4x16b32: packet 0: byte 0 "):
        measure("compressor", SMALL, [Scenario([packet(SMALL)])], verilog=verilog)
