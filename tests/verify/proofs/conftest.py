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
    if config.getoption("--save-proofs") and not hasattr(config, "workerinput"):
        try:
            records = _Records(config.getoption("--save-proofs"))
        except (UserError, ValueError) as error:  # before the work
            raise pytest.UsageError(f"--save-proofs: {error}") from error
        config.pluginmanager.register(records)


class _Records:
    """Outcomes of the proofs in a session. The run times of all sizes of a proof are added."""

    def __init__(self, file):
        check_replaceable(file)
        self.file = file
        self.before = json.loads(file.read_text()) if file.is_file() else []
        self.rows = {}

    def pytest_runtest_logreport(self, report):
        for row in (value for name, value in report.user_properties if name == "proof"):
            if report.when == "call":
                before = self.rows.get(row["proof"], {"seconds": 0})["seconds"]
                self.rows[row["proof"]] = row | {"seconds": before + row["seconds"]}

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        proofs = registry()
        before = [row for row in self.before if row["proof"] in proofs]
        rows = merged(list(self.rows.values()), before)
        terminalreporter.write_line(format_table(rows, COLUMNS))
        if exitstatus == 0:
            write_text(self.file, json.dumps(rows, indent=2) + "\n")
