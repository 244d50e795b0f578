"""Random runs find the registers that a mutant changes, and obey the stream rules."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Signal

from cdma.verify.mutation.proof import graph
from cdma.verify.mutation.walks import RandomRuns

WIDTH = 4


def unit():
    """Accepts a beat when empty, and records whether a stalled beat changed."""
    m = Module()
    m.domains.sync = domain = ClockDomain()
    pins = {
        name: Signal(width, name=name)
        for name, width in {
            "aclk": 1,
            "aresetn": 1,
            "mutant": 2,
            "s_axis_tdata": WIDTH,
            "s_axis_tvalid": 1,
            "s_axis_tready": 1,
            "m_axis_tdata": WIDTH,
            "m_axis_tvalid": 1,
            "m_axis_tready": 1,
        }.items()
    }
    valid, data, chosen = pins["s_axis_tvalid"], pins["s_axis_tdata"], pins["mutant"]
    held, full = Signal(WIDTH, name="core.x.part", reset_less=True), Signal(name="core.x.is_full")
    was, waited = Signal(WIDTH), Signal()
    broken, rare = Signal(name="core.x.is_broken"), Signal(name="core.x.is_rare")
    m.d.comb += [
        domain.clk.eq(pins["aclk"]),
        domain.rst.eq(~pins["aresetn"]),
        pins["s_axis_tready"].eq(~full),
        pins["m_axis_tvalid"].eq(full),
        pins["m_axis_tdata"].eq(held),
    ]
    m.d.sync += [
        full.eq((~full & valid) | (full & ~pins["m_axis_tready"])),
        was.eq(data),
        waited.eq(valid & full),
        broken.eq((chosen == 1) & waited & (~valid | (data != was))),
        # A word of zeros after a word of ones.
        rare.eq((chosen == 2) & ~full & valid & (data == 0) & (held == (1 << WIDTH) - 1)),
    ]
    with m.If(~full & valid):
        m.d.sync += held.eq(data ^ (chosen == 3))
    return rtlil.convert(m, name="top", ports=list(pins.values()))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return RandomRuns(graph(unit(), tmp_path_factory.mktemp("runs")))


@pytest.mark.parametrize(
    ("mutant", "apart"),
    [(0, []), (1, []), (2, ["core.x.is_rare"]), (3, ["m_axis_tdata[0]"])],
    ids=["the unit", "where a rule is broken", "where words are odd", "always"],
)
def test_registers_that_differ(runs, mutant, apart):
    names = {variable: name for name, variable in runs.graph.registers.items()}
    assert [names[variable] for variable in runs.apart(mutant)] == apart
