"""Programs beside this process: what one leaves behind when it is killed."""

import subprocess
import sys
import tempfile

import pytest

from cdma.toolchain import process

LEAVES_A_FOLDER = "import tempfile, time; tempfile.mkdtemp(); print('made', flush=True); "


def test_temporary_files_of_a_killed_program_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-c", LEAVES_A_FOLDER + "time.sleep(600)"]
    with process.started(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "made\n"
        (own,) = tmp_path.iterdir()
        assert len(list(own.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("environment", [None, {"LANGUAGE": "C"}])
def test_the_rest_of_the_environment_is_as_given(tmp_path, monkeypatch, environment):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("MARK", "here")
    monkeypatch.delenv("LANGUAGE", raising=False)
    code = "import os; print(os.environ.get('LANGUAGE'), os.environ.get('MARK'))"
    done = process.run([sys.executable, "-c", code], env=environment)
    assert done.stdout == ("None here\n" if environment is None else "C None\n")
    assert list(tmp_path.iterdir()) == []
