"""Exported proofs: reset is high in the first cycle, and no statement is checked in it."""

import re

import pytest
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.toolchain import sby
from cdma.verify.formal import export
from cdma.verify.formal.stream_rules import anything


class Counting(Elaboratable):
    """Counts from 3. The assertion names a value that is never reached."""

    def __init__(self, never):
        self.never = never

    def elaborate(self, platform):
        m = Module()
        count = Signal(4, init=3)
        steps = anything(m, 1, "steps")
        m.d.sync += count.eq(count + steps)
        m.d.comb += [Assert(count != self.never), Assume(count < 8), Cover(count == 5)]
        return m


def status(tmp_path, never, **how):
    files = {"a.il": export.rtlil(Counting(never), tmp_path)}
    files["a.sby"] = export.sby(
        "a", **{"is_bounded": True, "depth": 4, "reach": 4} | how, solver="z3"
    )
    return sby.run("a", files, 120, tmp_path)


@pytest.mark.parametrize(
    ("never", "how", "found"),
    [
        (2, {}, {"prove": "PASS", "cover": "PASS"}),  # a register has this value before the reset
        (6, {}, {"prove": "FAIL", "cover": "PASS"}),
        pytest.param(
            *(6, {"depth": 3}, {"prove": "PASS", "cover": "PASS"}), marks=pytest.mark.slow
        ),
        (12, {"is_bounded": False, "depth": 1}, {"prove": "PASS", "cover": "PASS"}),
        pytest.param(
            *(2, {"reach": 2}, {"prove": "PASS", "cover": "FAIL"}), marks=pytest.mark.slow
        ),
    ],
)
def test_the_checker_finds_what_holds(tmp_path, never, how, found):
    pytest.importorskip("z3")
    assert status(tmp_path, never, **how) == found


def test_reset_and_statements(tmp_path):
    text = export.rtlil(Counting(2), tmp_path)
    assert re.search(r"^  cell \$initstate \\reset\n    connect \\Y \\rst$", text, re.MULTILINE)
    for kind in ("assert", "assume", "cover"):
        assert f"connect \\EN \\{kind}0.counts" in text
    assert not re.search(r"wire input \d+ \\rst$", text, re.MULTILINE)
