"""The ``formal`` fixture: proofs about the hardware, and what must not be proven.

``--save-proofs FILE`` writes what was proven, a record for each test, and shows it;
``--save-mutants FILE`` see ``test_mutants.py``.
"""

import importlib.util
import inspect
import json
import sys
import types
from pathlib import Path

import pytest

from cdma.files import replacing
from cdma.hdl.zvc.config import Config
from cdma.tables import format_table
from cdma.verify.formal import prover as engine

#: How a proof's mark says by what it is made, and to which depth.
MODES = ("induction", "bounded")


class Formal:
    """Proves as the test's mark says, and refutes what is broken."""

    def __init__(self, row, record):
        self._row = row
        self._record = record

    def __call__(self, design, **options):
        """All promises of a design hold, and all that it must be able to do is possible."""
        verdict = engine.prove(design, **self._how(), **options)
        self._record("proof", self._row | {"seconds": verdict.seconds})
        assert verdict.outcome == "proven", verdict

    def refutes(self, design, depth: int | None = None):
        """A design's promises do not hold."""
        how = {"depth": depth or self._how()["depth"], "by_induction": False}
        verdict = engine.prove(design, **how)
        assert verdict.outcome == "refuted", verdict

    def _how(self):
        return {"depth": self._row["depth"], "by_induction": self._row["mode"] == "induction"}


def row_of(function) -> dict:
    """What the mark of a test says, and what its name does."""
    (mark,) = (mark for mark in function.pytestmark if mark.name == "proof")
    component, size = mark.args
    ((mode, depth),) = mark.kwargs.items()
    assert mode in MODES, f"{function.__name__} is by {mode!r}"
    return {
        "test": f"{Path(inspect.getsourcefile(function)).stem}::{function.__name__}",
        "property": function.__name__.removeprefix("test_").replace("_", " ").capitalize(),
        "component": component if isinstance(component, str) else component.__name__,
        "width": size,
        "mode": mode,
        "depth": depth,
    }


@pytest.fixture(name="row_of", scope="session")
def row_of_fixture():
    """Function that gives a proof's row of the table, without its time."""
    return row_of


@pytest.fixture(scope="session")
def proofs_of():
    """Function that gives a file of proofs of this folder, as a module."""

    def load(name: str) -> types.ModuleType:
        file = Path(__file__).with_name(f"{name}.py")
        spec = importlib.util.spec_from_file_location(f"proofs_{name}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def formal(request, record_property):
    """Function that proves a design by its test's mark ``proof``; see :class:`Formal`."""
    return Formal(row_of(request.function), record_property)


@pytest.fixture(
    params=[Config.of(2, 8, 8), Config.of(4, 8, 8)], ids=lambda config: config.name, scope="session"
)
def small(request):
    """Size with all of the structure, for proofs of whole units that look a few cycles ahead."""
    return request.param


@pytest.fixture(scope="session")
def mutated():
    """Function that gives a component of ``cdma.hdl`` with a text in its module replaced."""

    def mutate(component: type, old: str, new: str) -> type:
        module = sys.modules[component.__module__]
        source = inspect.getsource(module)
        assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in {module.__name__}"
        mutant = types.ModuleType(f"{module.__name__}_mutant")
        code = compile(source.replace(old, new), f"{module.__file__} with {new!r}", "exec")
        exec(code, mutant.__dict__)
        return getattr(mutant, component.__name__)

    return mutate


def pytest_addoption(parser):
    parser.addoption("--save-proofs", type=Path, help="JSON file to write: what was proven")
    parser.addoption("--save-mutants", type=Path, help="JSON file to write: mutants in proofs")


def pytest_configure(config):
    if config.getoption("--save-proofs") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Records(config.getoption("--save-proofs")))


class _Records:
    """What the tests of a session have proven; the times of a test's parameters are added up."""

    def __init__(self, file):
        self.file = file
        self.rows = {}

    def pytest_runtest_logreport(self, report):
        for row in (value for name, value in report.user_properties if name == "proof"):
            if report.when == "call":
                seconds = self.rows.get(row["test"], {"seconds": 0})["seconds"] + row["seconds"]
                self.rows[row["test"]] = row | {"seconds": round(seconds, 1)}

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        rows = [self.rows[test] for test in sorted(self.rows)]
        columns = ("property", "component", "width", "mode", "depth", "seconds")
        terminalreporter.write_line(format_table(rows, columns))
        if exitstatus == 0:
            with replacing(self.file) as temporary:
                temporary.write_text(json.dumps(rows, indent=2) + "\n")
