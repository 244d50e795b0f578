"""Counters continue from any value, up to values of packets that are too long to simulate."""

from functools import cache

import pytest

from cdma.hdl.zvc.config import Config
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import mutants
from cdma.verify.mutation.long_packets import LongPackets
from cdma.verify.mutation.proof import graph

CONFIG, ONES, PORT, CELLS = (
    Config.parse(f"4x8b16{options}") for options in ("", "-ones", "-z80-zport", "-asic")
)
#: Counters of each unit.
MODULES = {
    ("compressor", CONFIG): ("core.report.words_in", "core.report.rows_out"),
    ("compressor", PORT): ("core.report.words_in", "core.report.rows_out"),
    ("decompressor", CONFIG): ("core.report.used", "core.fetcher.control.left"),
    ("decompressor", ONES): ("core.report.used", "core.report.rows"),
    # Its graph has undefined values as inputs.
    ("decompressor", CELLS): ("core.report.used", "core.fetcher.control.left"),
}
SLOW = [
    pytest.param(*case, marks=() if case == ("compressor", CONFIG) else pytest.mark.slow, id=name)
    for case, name in zip(
        MODULES,
        ("compressor", "zero port", "decompressor", "tail of ones", "standard cells"),
        strict=True,
    )
]


@cache
def woven(unit, config):
    """A unit with two faults in each of its counters, and its graph."""
    drawn = mutants.draw(unit, config, 1000, 0, cache_folder())
    found = [
        mutant
        for module in MODULES[unit, config]
        for mutant in [each for each in drawn.mutants if each.module == module][:2]
    ]
    made = mutants.weave(drawn, found, cache_folder())
    return made, graph(made.rtlil, cache_folder())


@pytest.mark.parametrize(("unit", "config"), SLOW)
def test_counters_go_on_from_any_number(unit, config):
    for is_cut in (False, True) if unit == "decompressor" else (False,):
        packets = LongPackets(unit, config, woven(unit, config)[1], is_cut=is_cut)
        assert packets.fault() == ""
        assert not packets.ports_change()


@pytest.mark.parametrize(("unit", "config"), SLOW)
def test_a_counter_that_carries_wrongly_is_found(unit, config):
    made, unit_graph = woven(unit, config)
    packets = LongPackets(unit, config, unit_graph)
    for module in MODULES[unit, config]:
        reasons = [packets.fault(each.number) for each in made.mutants if each.module == module]
        assert any(reason.startswith("other statuses when counters are") for reason in reasons)


def test_registers_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"'core.report.used'"):
        LongPackets("decompressor", CONFIG, woven("compressor", CONFIG)[1])
