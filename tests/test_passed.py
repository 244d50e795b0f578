"""``pytest --passed=FILE`` goes on with a run that was interrupted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = "from passed import pytest_addoption, pytest_configure\n"
TESTS = """\
import os, pytest

@pytest.mark.parametrize("number", range(5))
def test_number(number):
    assert number != int(os.environ.get("BROKEN", -1))

@pytest.fixture
def frail():
    yield
    assert "BROKEN" not in os.environ

def test_end(frail):
    pass

def test_skipped():
    pytest.skip("not here")
"""


@pytest.fixture
def run(tmp_path):
    """Run the tests of a small tree; gives the exit status and the counts of its last line, without
    those that were left out: several workers do not count them."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "conftest.py").write_text(CONFTEST)
    (tree / "test_it.py").write_text(TESTS)
    (tree / "pytest.ini").write_text("[pytest]\n")

    def run(*options, broken=None):
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent / "helpers")}
        environment.pop("PYTEST_ADDOPTS", None)
        if broken is not None:
            environment["BROKEN"] = str(broken)
        command = [sys.executable, "-m", "pytest", f"--passed={tmp_path / 'passed'}", *options]
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        last = (done.stdout + done.stderr).strip().splitlines()[-1]
        return done.returncode, dict(
            reversed(pair)
            for pair in re.findall(r"(\d+) (\w+)", last.split(" in ")[0])
            if pair[1] != "deselected"
        )

    run.tree, run.file = tree, tmp_path / "passed"
    return run


@pytest.mark.parametrize("workers", ["0", "2"])
def test_only_what_has_not_passed_is_run_again(run, workers):
    first = run("-n", workers, broken=3)
    assert first == (1, {"failed": "1", "passed": "5", "skipped": "1", "error": "1"})
    second = run("-n", workers)
    assert second == (0, {"passed": "2", "skipped": "1"})
    assert run("-n", workers) == (0, {"skipped": "1"})


def test_a_tree_that_changed_begins_anew(run):
    assert run()[1] == {"passed": "6", "skipped": "1"}
    (run.tree / "other.py").write_text("")
    assert run()[1] == {"passed": "6", "skipped": "1"}
    assert run()[1] == {"skipped": "1"}


def test_nothing_left_is_no_success(run):
    assert run("-k", "number")[0] == 0
    assert run("-k", "number")[0] == pytest.ExitCode.NO_TESTS_COLLECTED


def test_other_files_are_refused(run):
    run.file.write_text("mine\n")
    assert run()[0] == pytest.ExitCode.USAGE_ERROR
    assert run.file.read_text() == "mine\n"
    run.file.write_bytes(b"\xff")
    assert run()[0] == pytest.ExitCode.USAGE_ERROR
