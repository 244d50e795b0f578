"""Options: ``--save-proofs FILE`` writes and prints a record of each proof.

For ``--save-mutants FILE`` see ``test_mutants.py``.
"""

import json
from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.files import check_replaceable, write_text
from cdma.tables import format_table
from cdma.verify.proofs.registry import registry
from cdma.verify.proofs.table import COLUMNS, merged


def pytest_addoption(parser):
    parser.addoption("--save-proofs", type=Path, help="JSON file to write: outcomes of proofs")
    parser.addoption("--save-mutants", type=Path, help="folder to write: mutants in proofs")


def pytest_configure(config):
    file = config.getoption("--save-proofs")
    if file and not hasattr(config, "workerinput"):
        try:
            config.pluginmanager.register(_Records(file))
        except UserError as error:  # before the work
            raise pytest.UsageError(f"--save-proofs: {error}") from error
        except (ValueError, TypeError, KeyError) as error:
            raise pytest.UsageError(f"--save-proofs: {file} is no record of proofs") from error


class _Records:
    """Outcomes of the proofs in a session. The run times of all sizes of a proof are added."""

    def __init__(self, file):
        check_replaceable(file)
        self.file = file
        proofs = registry()
        before = json.loads(file.read_text()) if file.is_file() else []
        self.before = [row for row in before if row["proof"] in proofs]
        self.rows = {}

    def pytest_runtest_logreport(self, report):
        for row in (value for name, value in report.user_properties if name == "proof"):
            if report.when == "call":
                before = self.rows.get(row["proof"], {"seconds": 0})["seconds"]
                self.rows[row["proof"]] = row | {"seconds": before + row["seconds"]}

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        rows = merged(list(self.rows.values()), self.before)
        terminalreporter.write_line(format_table(rows, COLUMNS))
        if exitstatus == 0:
            write_text(self.file, json.dumps(rows, indent=2) + "\n")
