"""The command, and a unit and a cell library small enough that real tools answer in seconds."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from passed import pytest_addoption, pytest_configure  # noqa: F401 (hooks)

from cdma import progress
from cdma.cli.main import main
from cdma.hdl.zvc.config import Config
from cdma.synth.flow.measure import Design
from cdma.toolchain import steps as steps_module
from cdma.toolchain.steps import Steps

TINY = """\
module tiny(input aclk, input aresetn, input [15:0] s_axis_tdata, input s_axis_tvalid,
            output reg [15:0] m_axis_tdata, output reg m_axis_tvalid);
  reg [15:0] total;
  always @(posedge aclk) begin
    if (s_axis_tvalid) total <= total + s_axis_tdata;
    m_axis_tdata <= total;
    m_axis_tvalid <= s_axis_tvalid & aresetn;
  end
endmodule
"""


def _table(name: str, low: float, high: float) -> str:
    values = f'"{low}, {high}", "{low * 1.5}, {high * 1.5}"'
    return f"{name}(slopes) {{ values({values}); }}"


def _arc(related: str, sense: str = "negative_unate", kind: str = "") -> str:
    tables = "\n".join(
        _table(name, 0.01, 0.05)
        for name in ("cell_rise", "cell_fall", "rise_transition", "fall_transition")
    )
    how = f"timing_type : {kind};" if kind else f"timing_sense : {sense};"
    return f'timing() {{ related_pin : "{related}"; {how} {tables} }}'


def _energy(rise: float, fall: float, related: str = "") -> str:
    """Energy of a change: at load 0, and twice that at the largest load of the table."""
    if related:
        points = 'index_1("0.01, 0.2"); index_2("0.0, 0.1");'
        tables = (f'"{e}, {2 * e}", "{e}, {2 * e}"' for e in (rise, fall))
        template, related = "energies", f'related_pin : "{related}";'
    else:
        points = 'index_1("0.01, 0.2");'
        tables = (f'"{e}, {e}"' for e in (rise, fall))
        template = "own_energies"
    rising, falling = tables
    return (
        f"internal_power() {{ {related} rise_power({template}) {{ {points} values({rising}); }} "
        f"fall_power({template}) {{ {points} values({falling}); }} }}"
    )


def _input(name: str, more: str = "") -> str:
    return f"pin({name}) {{ direction : input; capacitance : 0.001; {more} }}"


def _output(name: str, function: str, arcs: str) -> str:
    return (
        f'pin({name}) {{ direction : output; max_capacitance : 0.1; function : "{function}"; '
        f"{arcs} }}"
    )


def _gate(name: str, area: float, inputs: str, function: str, sense: str) -> str:
    arcs = " ".join(_arc(pin, sense) for pin in inputs)
    pins = " ".join(_input(pin) for pin in inputs)
    arcs += " ".join(_energy(0.003, 0.001, pin) for pin in inputs)
    return (
        f"cell({name}) {{ area : {area}; cell_leakage_power : 5.0; "
        f"{pins} {_output('Y', function, arcs)} }}"
    )


def _setup(kind: str) -> str:
    tables = "\n".join(
        f'{name}(limits) {{ values("0.02, 0.02", "0.02, 0.02"); }}'
        for name in ("rise_constraint", "fall_constraint")
    )
    return f'timing() {{ related_pin : "CK"; timing_type : {kind}; {tables} }}'


LIBRARY = "\n".join(
    [
        "/* cells that exist nowhere: { */",
        "library(toy) {",
        "delay_model : table_lookup;",
        'time_unit : "1ns"; voltage_unit : "1V"; current_unit : "1mA";',
        'pulling_resistance_unit : "1kohm"; leakage_power_unit : "1nW";',
        "capacitive_load_unit(1, pf); nom_voltage : 1.0; nom_temperature : 25; nom_process : 1;",
        "default_max_transition : 0.5;",
        "power_lut_template(energies) { variable_1 : input_transition_time;",
        'variable_2 : total_output_net_capacitance; index_1("0.01, 0.2"); index_2("0.0, 0.1"); }',
        "power_lut_template(own_energies) { variable_1 : input_transition_time;",
        'index_1("0.01, 0.2"); }',
        "lu_table_template(slopes) { variable_1 : input_net_transition;",
        "variable_2 : total_output_net_capacitance;",
        'index_1("0.01, 0.2"); index_2("0.001, 0.1"); }',
        "lu_table_template(limits) { variable_1 : related_pin_transition;",
        'variable_2 : constrained_pin_transition; index_1("0.01, 0.2"); index_2("0.01, 0.2"); }',
        _gate("INV", 1.0, "A", "!A", "negative_unate"),
        _gate("BUF", 2.0, "A", "A", "positive_unate"),
        _gate("BUFBIG", 4.0, "A", "A", "positive_unate"),
        _gate("NAND2", 2.5, "AB", "(A B)'", "negative_unate"),
        _gate("NAND2BIG", 5.0, "AB", "!(A & B)", "negative_unate"),
        _gate("NOR2", 2.5, "AB", "!A * !B", "negative_unate"),
        "cell(DFF) { area : 10.0; cell_leakage_power : 20.0;",
        'ff(IQ, IQN) { clocked_on : "CK"; next_state : "D"; }',
        _input("CK", "clock : true;" + _energy(0.010, 0.006)),
        _input("D", _setup("setup_rising") + _setup("hold_rising") + _energy(0.002, 0.002)),
        _output("Q", "IQ", _arc("CK", kind="rising_edge") + _energy(0.005, 0.005, "CK")),
        "} }",
    ]
)


@pytest.fixture(scope="session")
def tiny() -> Design:
    """Design that adds up words of 16 bits."""
    return Design("tiny", Config.of(2, 8, 32), "tiny", TINY)


@pytest.fixture(scope="session")
def library_text() -> str:
    """A cell library in Liberty format."""
    return LIBRARY


@pytest.fixture
def library_file(tmp_path):
    """Path of a cell library in Liberty format."""
    path = tmp_path / "toy.lib"
    path.write_text(LIBRARY)
    return path


@pytest.fixture(scope="session")
def steps(tmp_path_factory) -> Steps:
    """Runner whose results last for all tests."""
    return Steps(tmp_path_factory.mktemp("synth-cache"))


@pytest.fixture
def calls(monkeypatch) -> list[str]:
    """Names of the tools that were run, in order."""
    names = []
    execute = steps_module.execute

    def counting(tool, *arguments):
        names.append(tool.name)
        return execute(tool, *arguments)

    monkeypatch.setattr(steps_module, "execute", counting)
    return names


@pytest.fixture
def iverilog() -> str:
    """Path of Icarus Verilog; the test is skipped without it."""
    path = shutil.which("iverilog")
    if path is None:
        pytest.skip("Icarus Verilog is not installed (apt-get install iverilog)")
    return path


class FrailCluster:
    """A Dask cluster of two workers that nothing replaces."""

    def __init__(self, scheduler, folder):
        self.address = scheduler.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        command += ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
        command += ["--local-directory", str(folder)]
        found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # modules of tests, too
        self.workers = [
            subprocess.Popen(
                command, env=found, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
            )
            for _ in range(2)
        ]

    def losing(self, sweep):
        """The function ``sweep``, which loses a worker when the first outcome has come."""

        def losing_sweep(*arguments, **options):
            for outcome in sweep(*arguments, **options):
                if self.workers[0].poll() is None:
                    os.kill(self.workers[0].pid, signal.SIGKILL)
                    self.workers[0].wait()
                yield outcome

        return losing_sweep

    def has_lost(self) -> bool:
        """Whether one worker is gone, and one is there."""
        return [worker.poll() is None for worker in self.workers] == [False, True]


@pytest.fixture
def frail_cluster(tmp_path):
    """Dask cluster of two workers, which a test may rob of one."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=":0", silence_logs="CRITICAL"
    ) as scheduler:
        cluster = FrailCluster(scheduler, tmp_path)
        try:
            with distributed.Client(scheduler, set_as_default=False) as client:
                client.wait_for_workers(2)
            yield cluster
        finally:
            for worker in cluster.workers:
                worker.kill()
                worker.wait()


@pytest.fixture
def refuse(capsys, monkeypatch):
    """Run the command, hold it to one line on stderr and status 2, and give that line."""

    # On a busy machine progress is shown after a while.
    monkeypatch.setattr(progress, "_LINE_SECONDS", 3600)

    def run(*argv) -> str:
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        assert status == 2
        if "--json" in argv:
            error = json.loads(out)["error"]
            assert error["status"] == 2
            assert err.endswith(f"{error['message']}\n")
        else:
            assert out == ""
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err.rstrip("\n")

    return run


@pytest.fixture
def lock(monkeypatch):
    """Make a folder that cannot be read. Root reads folders of any mode, so no mode is set."""

    def lock(folder) -> None:
        def scandir(path="."):
            if os.fspath(path) == str(folder):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
            return real(path)

        real = os.scandir
        monkeypatch.setattr(os, "scandir", scandir)

    return lock


@pytest.fixture
def report(capsys):
    """Run the command with ``--json``, hold it to status 0 and give what it printed, parsed."""

    def run(*argv):
        assert main([*map(str, argv), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def helped(capsys):
    """Give the help of a verb."""

    def run(verb: str) -> str:
        assert main([verb, "--help"]) == 0
        return capsys.readouterr().out

    return run
