"""What the tests of all verbs share."""

import json

import pytest

from cdma.cli.main import main


@pytest.fixture
def refuse(capsys):
    """Run the command, hold it to one line on stderr and status 2, and give that line."""

    def run(*argv) -> str:
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        assert status == 2
        assert out == ""
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err.rstrip("\n")

    return run


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
