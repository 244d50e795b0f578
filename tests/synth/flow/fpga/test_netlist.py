"""Netlists: rules of counting, and the one clock of a report."""

import json

import pytest

from cdma.errors import UserError
from cdma.synth.flow.fpga.netlist import Area, Rules, cells_of, clock_of, ports_of

RULES = Rules(
    luts={"LUT2": 1, "RAM": 4, "MUX": 0},
    flip_flops={"FF", "FFE"},
    carries=(),
    lut_rams={"RAM"},
    block_rams={"BRAM"},
)
NETLIST = json.dumps(
    {
        "modules": {
            "top": {
                "ports": {
                    "aclk": {"direction": "input", "bits": [2]},
                    "q": {"direction": "output", "bits": [3, 4]},
                },
                "cells": {name: {"type": name[:2]} for name in ("FF0", "FF1", "LU0")},
            }
        }
    }
)


def test_luts_are_weighted_and_kinds_are_counted():
    cells = {"LUT2": 5, "RAM": 3, "MUX": 7, "FF": 2, "FFE": 4, "BRAM": 1}
    assert RULES.area(cells) == Area(17, flip_flops=6, carries=0, lut_rams=3, block_rams=1)


def test_a_cell_without_a_rule_is_refused():
    with pytest.raises(ValueError, match=r"^Cells must be of \['BRAM', .*\], not 'DSP'$"):
        RULES.area({"LUT2": 1, "DSP": 1})


def test_cells_and_ports_of_a_netlist():
    assert cells_of(NETLIST, "top") == {"FF": 2, "LU": 1}
    assert ports_of(NETLIST, "top") == {"aclk": ("input", 1), "q": ("output", 2)}


def test_clock_of_a_report():
    clock = {"achieved": 123.5, "constraint": 400}
    assert clock_of("unit", json.dumps({"fmax": {"aclk": clock}})) == 123.5
    message = r"^unit: expected one clock, nextpnr found \['a', 'b'\]$"
    with pytest.raises(UserError, match=message):
        clock_of("unit", json.dumps({"fmax": {"a": clock, "b": clock}}))
