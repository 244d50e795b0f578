"""Building the model of an engine."""

import pytest

from cdma.cli.main import main


@pytest.mark.parametrize(
    "command",
    [
        "fuzz --unit engine --packets 10",
        "fuzz --unit engine --packets 10 --all-sizes",
        "bench --targets --channels 1",
        "coverage --unit engine",
    ],
)
def test_a_missing_program_is_reported_before_the_engine_is_made(capsys, monkeypatch, command):
    monkeypatch.setattr("cdma.designs.engine", lambda *_: pytest.fail("it was made before"))
    monkeypatch.setenv("PATH", "")
    assert main(command.split()) == 2
    assert "not installed" in capsys.readouterr().err
