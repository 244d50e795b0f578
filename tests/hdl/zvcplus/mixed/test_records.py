"""Commands of units of several types."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.records import TypeCommand, TypedCommand, select_of


def test_fields():
    assert [(name, field.offset, field.width) for name, field in TypeCommand()] == [("type", 0, 8)]
    assert [(name, field.offset, field.width) for name, field in TypedCommand()] == [
        ("words", 0, 32),
        ("type", 32, 8),
    ]


@pytest.mark.parametrize("types", [("fp32", "bf16"), ("fp16", "bf16", "int8")])
def test_every_number(types):
    config = MixedConfig(types)
    m, number, select = Module(), Signal(8), Signal(len(types))
    m.d.comb += select.eq(select_of(number, config))

    async def check(ctx):
        for value in range(256):
            ctx.set(number, value)
            known = list(config.parts)
            way = known.index(value) if value in known else 0
            assert ctx.get(select) == 1 << way

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()
