"""What was considered can be measured: each becomes a design that Yosys takes."""

import re

import pytest

from cdma.hdl.zvc.config import Config
from cdma.synth.alternatives import catalogue
from cdma.synth.flow import ecp5


def test_every_kind_has_what_the_units_have_and_something_else():
    kinds = [name.split(":")[0] for name in catalogue.COMPONENTS]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "network": 5,
        "stall": 5,
        "buffer": 4,
        "limit": 4,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.COMPONENTS)
def test_verilog_has_a_clock(name):
    design = catalogue.design(name, Config.of(2, 8, 32))
    assert (design.unit, design.top) == (name, "alternative")
    assert re.search(r"^module alternative\(", design.verilog, re.MULTILINE)
    assert re.search(r"^  input aclk;", design.verilog, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "area"),
    [
        # For 4 lanes of 8 bits, blocks of 32 words: 8 beats of 32 bits.
        pytest.param(
            *("limit: a block's words", {"flip_flops": 32 * 8, "lut4": 0}), marks=pytest.mark.slow
        ),
        pytest.param("limit: skid", {"flip_flops": 2 * 32 + 2}, marks=pytest.mark.slow),
        ("buffer: block memory", {"block_rams": 1, "lut_rams": 0}),
    ],
)
def test_storage_is_what_it_should_be(steps, name, area):
    design = catalogue.design(name, Config.of(4, 8, 32))
    found = ecp5.synthesise(steps, design.label, design.top, design.verilog).area
    assert {figure: getattr(found, figure) for figure in area} == area
