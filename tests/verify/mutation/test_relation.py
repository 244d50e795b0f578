"""The search finds exactly the registers that are a don't-care while a flag is low."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Signal

from cdma.verify.mutation.proof import graph
from cdma.verify.mutation.relation import matters


def pipeline(reads_always):
    """Two stages with a common stall. The payload of the second is at a port, valid or not."""
    m = Module()
    m.domains.sync = domain = ClockDomain()
    names = ["aclk", "aresetn", "s_axis_tvalid", "s_axis_tdata", "m_axis_tvalid", "m_axis_tdata"]
    names += ["m_axis_tready", "observed"]
    pins = {name: Signal(name=name) for name in names}
    valid = [Signal(name=f"core.stages.is_valid{k}") for k in range(2)]
    data = [Signal(name=f"core.stages.part{k}", reset_less=True) for k in range(2)]
    with m.If(pins["m_axis_tready"]):
        m.d.sync += [
            valid[0].eq(pins["s_axis_tvalid"]),
            data[0].eq(pins["s_axis_tdata"]),
            valid[1].eq(valid[0]),
            data[1].eq(data[0]),
        ]
    m.d.comb += [
        domain.clk.eq(pins["aclk"]),
        domain.rst.eq(~pins["aresetn"]),
        pins["m_axis_tvalid"].eq(valid[1]),
        pins["m_axis_tdata"].eq(data[1]),
        pins["observed"].eq(data[0] if reads_always else 0),
    ]
    return rtlil.convert(m, name="top", ports=list(pins.values()))


@pytest.mark.parametrize("reads_always", [False, True])
def test_a_payload_matters_while_it_is_valid(tmp_path, reads_always):
    unit = graph(pipeline(reads_always), tmp_path)
    name = {variable: name.rpartition(".")[2] for name, variable in unit.registers.items()}
    found = {
        name[variable]: [(name[literal >> 1], literal & 1) for literal in literals]
        for variable, literals in matters(unit).items()
    }
    expected = {"m_axis_tdata": [("m_axis_tvalid", 0)]}
    if not reads_always:
        expected["part0"] = [("is_valid0", 0)]
    assert found == expected
