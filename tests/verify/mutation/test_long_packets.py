"""Counters continue from any value, up to values of packets that are too long to simulate."""

from functools import cache

import pytest

from cdma.hdl.zvc.config import Config
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import mutants
from cdma.verify.mutation.long_packets import LongPackets
from cdma.verify.mutation.proof import graph

CONFIG = Config.of(4, 8, 16)


MODULES = {
    "compressor": ("core.report.words_in", "core.report.rows_out"),
    "decompressor": ("core.report.used", "core.fetcher.control.left"),
}


@cache
def woven(unit):
    """A unit with two faults in each of its counters, and its graph."""
    drawn = mutants.draw(unit, CONFIG, 1000, 0, cache_folder())
    found = [
        mutant
        for module in MODULES[unit]
        for mutant in [each for each in drawn.mutants if each.module == module][:2]
    ]
    made = mutants.weave(drawn, found, cache_folder())
    return made, graph(made.rtlil, cache_folder())


@pytest.mark.parametrize(
    ("unit", "is_cut"),
    [
        ("compressor", False),
        *(pytest.param("decompressor", cut, marks=pytest.mark.slow) for cut in (False, True)),
    ],
)
def test_counters_go_on_from_any_number(unit, is_cut):
    packets = LongPackets(unit, CONFIG, woven(unit)[1], is_cut=is_cut)
    assert packets.fault() == ""
    assert not packets.ports_change()


@pytest.mark.parametrize(
    "unit", ["compressor", pytest.param("decompressor", marks=pytest.mark.slow)]
)
def test_a_counter_that_carries_wrongly_is_found(unit):
    made, unit_graph = woven(unit)
    packets = LongPackets(unit, CONFIG, unit_graph)
    for module in MODULES[unit]:
        reasons = [packets.fault(each.number) for each in made.mutants if each.module == module]
        assert any(reason.startswith("other statuses when counters are") for reason in reasons)


def test_registers_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"'core.report.used'"):
        LongPackets("decompressor", CONFIG, woven("compressor")[1])
