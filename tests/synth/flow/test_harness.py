"""The harness registers every pin of a unit, and does not count."""

import re

import pytest

from cdma.synth.flow import harness

PORTS = {"aclk": ("input", 1), "a": ("input", 3), "b": ("input", 1), "y": ("output", 4)}


def test_every_port_is_connected_to_bits_of_its_own():
    text = harness.verilog("unit_under_test", PORTS)
    for connection in (".aclk(aclk)", ".a(drive[0 +: 3])", ".b(drive[3 +: 1])"):
        assert connection in text
    assert ".y(result[0 +: 4])" in text
    assert re.search(r"reg \[3:0\] drive;", text)
    assert re.search(r"reg \[3:0\] capture;", text)


@pytest.mark.parametrize(
    ("ports", "complaint"),
    [
        ({"clk": ("input", 1)}, r"^Unit u must have a clock named aclk, not \['clk'\]$"),
        (
            {"aclk": ("input", 1), "y": ("output", 1)},
            r"^Unit u must have inputs and outputs, not \{'input': 0, 'output': 1\}$",
        ),
    ],
)
def test_a_unit_without_clock_or_pins_is_refused(ports, complaint):
    with pytest.raises(ValueError, match=complaint):
        harness.verilog("u", ports)
