"""What a simulation of one packet says in numbers."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.zvc.config import Config
from cdma.sim.report import record, text
from cdma.sim.result import PacketResult, Result, Scenario

CONFIG = Config.of(4, 16)
WORDS = np.array([0, 1, 2, 0, 0, 0, 0, 9], "<u2")
STREAM = compress(WORDS).tobytes()
WHERE = {"status": (0, 0), "beats_in": 2, "beats_out": 3, "first_cycle": 5, "last_cycle": 12}


def result(unit, packet, output, **more):
    """Result of a unit that took eight cycles."""
    passed = PacketResult(output=output, status_cycle=13, **WHERE)
    return Result(unit, CONFIG, Scenario([packet]), [passed], bound=8, **more)


@pytest.mark.parametrize(
    ("unit", "packet", "output"),
    [("compressor", WORDS, STREAM), ("decompressor", (STREAM, 8), WORDS.tobytes())],
)
def test_sizes_of_both_directions(unit, packet, output):
    found = record(result(unit, packet, output), WORDS)
    sizes = (len(packet[0]), len(output)) if unit == "decompressor" else (16, len(output))
    assert (found["bytes_in"], found["bytes_out"]) == sizes
    assert found["stream_bytes"] == len(STREAM)
    assert found["ratio"] == 16 / len(STREAM)
    assert (found["cycles"], found["bytes_per_cycle"]) == (8, 2.0)
    assert (found["words"], found["density"]) == (8, 3 / 8)
    assert (found["throughput"], found["comparison"]) == ("met", "equal")


def test_first_difference_is_the_verdict():
    found = record(result("compressor", WORDS, STREAM, difference="byte 3 differs"), WORDS)
    assert found["comparison"] == "byte 3 differs"


def test_figures_of_a_packet_that_never_came_out_are_missing():
    failed = Result("compressor", CONFIG, Scenario([WORDS]), [], failure="tlast is missing")
    found = record(failed, WORDS)
    names = ("bytes_out", "stream_bytes", "ratio", "cycles", "beats_in", "bytes_per_cycle")
    assert {found[name] for name in names} == {None}
    assert (found["throughput"], found["comparison"]) == ("no rule applies", "tlast is missing")


def test_text_has_a_line_for_each_figure():
    figures = {"words": 3000, "ratio": 2 / 3, "cycles": None, "stalled_cycles": {"m_axis": 1200}}
    assert text(figures | {"stall": ["never", "sink=never"], "seed": 1000}).splitlines() == [
        "words           3,000",
        "ratio           0.6667",
        "cycles          -",
        "stalled cycles  m_axis 1,200",
        "stall           never sink=never",
        "seed            1000",
    ]
    assert text({"a_name_of_twenty_one": 1, "b": 2}).splitlines()[1] == "b" + 20 * " " + "2"
