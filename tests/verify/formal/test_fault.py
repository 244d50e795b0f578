"""Fault injection, on a design in which the effect of every fault is known."""

import re

import pytest
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal

from cdma.verify.formal import netlist, prover
from cdma.verify.formal.fault import KINDS, Fault, force
from cdma.verify.formal.stream_rules import anything


class Pipeline(Elaboratable):
    """A sum, and the sum of the previous cycle. The upper bits are a separate named signal."""

    def __init__(self):
        self.a, self.b = Signal(2), Signal(2)
        self.total = Signal(3)
        self.held = Signal(3)
        self.upper = Signal(2)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.total.eq(self.a + self.b), self.upper.eq(self.total[1:])]
        m.d.sync += self.held.eq(self.total)
        return m


class Expects(Elaboratable):
    """Asserts a function of both sums in the second cycle after reset."""

    def __init__(self, expect):
        self.expect = expect

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Pipeline()
        m.d.comb += [
            dut.a.eq(anything(m, 2, "any_a")),
            dut.b.eq(anything(m, 2, "any_b")),
        ]
        now, before, has_before = Signal(3), Signal(3), Signal(2)
        m.d.comb += now.eq(dut.a + dut.b)
        m.d.sync += [before.eq(now), has_before.eq(Cat(1, has_before))]
        with m.If(has_before.all()):
            m.d.comb += [Assert(rule) for rule in self.expect(dut, now, before)]
        m.d.comb += Cover(now == 5)
        return m


def is_right(dut, now, before):
    return [dut.total == now, dut.held == before, dut.upper == now[1:]]


#: For each fault, an assertion that holds with this fault and with no other.
EXPECTED = {
    None: is_right,
    Fault("dut.total", "stuck at 0"): lambda dut, now, before: [
        Cat(dut.total, dut.held, dut.upper) == 0
    ],
    Fault("dut.total", "stuck at 1", 2): lambda dut, now, before: [
        dut.total == now | 4,
        dut.held == before | 4,
        dut.upper == now[1:] | 2,
    ],
    Fault("dut.total", "inverted"): lambda dut, now, before: [
        dut.total == ~now & 7,
        dut.held == ~before & 7,
        dut.upper == ~now[1:] & 3,
    ],
    Fault("dut.upper", "inverted", 0): lambda dut, now, before: [
        dut.total == now ^ 2,
        dut.held == before ^ 2,
        dut.upper == now[1:] ^ 1,
    ],
    Fault("dut.total", "late"): lambda dut, now, before: [
        dut.total == before,
        dut.upper == before[1:],
    ],
    Fault("dut.held", "inverted"): lambda dut, now, before: [
        dut.total == now,
        dut.held == ~before & 7,
        dut.upper == now[1:],
    ],
}


@pytest.mark.parametrize("fault", EXPECTED, ids=str)
def test_a_fault_does_what_it_says_and_nothing_else(fault, tmp_path):
    design = Expects(EXPECTED[fault])
    verdict = prover.prove(design, 4, mode=prover.BOUNDED, fault=fault, cache=tmp_path)
    assert verdict.outcome == "proven"
    if fault:
        right = prover.prove(Expects(is_right), 4, mode=prover.BOUNDED, fault=fault, cache=tmp_path)
        assert right.outcome == "refuted"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("dut.other", "inverted"), "Design has no signal 'dut.other'"),
        (Fault("dut.total", "inverted", 3), "Signal 'dut.total' has 3 bits, no bit 3"),
    ],
)
def test_what_cannot_be_forced_is_refused(fault, message, tmp_path):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        prover.prove(Expects(is_right), 4, mode=prover.BOUNDED, fault=fault, cache=tmp_path)


def test_a_signal_that_no_cell_drives_is_refused(tmp_path):
    text = netlist.flat(netlist.rtlil_of(Expects(is_right)), tmp_path, purge=False)
    with pytest.raises(ValueError, match=r"^No cell drives 'dut\.total', but \{ .* \}$"):
        force(re.sub(r"^    connect \\Y (?=.*total.*$)", r"    connect \\A ", text, flags=re.M),
              Fault("dut.total", "inverted"))  # fmt: skip


def test_kinds_are_named():
    with pytest.raises(ValueError, match=rf"^Fault must be one of {', '.join(KINDS)}, not 'slow'$"):
        Fault("dut.total", "slow")
    assert str(Fault("dut.total", "stuck at 0", 1)) == "dut.total[1] stuck at 0"
