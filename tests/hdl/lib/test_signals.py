"""Small idioms of signals."""

from amaranth.back import verilog
from amaranth.hdl import Module, Signal

from cdma.hdl.lib.signals import wire


def adders(name) -> int:
    """Adders in the Verilog of a sum, of which each bit is used by itself."""
    m, a, b, bits = Module(), Signal(8), Signal(8), Signal(8)
    total = (a + b)[:8]
    if name:
        total = wire(m, total, name)
    m.d.comb += [bit.eq(~each) for bit, each in zip(bits, total, strict=True)]
    return verilog.convert(m, ports=[a, b, bits], emit_src=False).count(" + ")


def test_a_wire_is_written_once():
    assert adders("total") == 1
    assert adders("") == 8
