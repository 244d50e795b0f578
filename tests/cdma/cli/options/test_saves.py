"""Files for results are refused before the work."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from cdma.cli.options import saves


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    assert saves.file_to_write(str(tmp_path / "a.json")) == tmp_path / "a.json"
    assert not list(tmp_path.iterdir()), "nothing is written yet"
    with pytest.raises(ArgumentTypeError, match=r"does not exist, create it first$"):
        saves.file_to_write(str(tmp_path / "none" / "a.json"))
    with pytest.raises(ArgumentTypeError, match="is a folder, expected the name of a file"):
        saves.file_to_write(str(tmp_path))


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path):
    assert saves.folder_to_make(str(tmp_path / "a" / "b")) == str(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir()), "nothing is made yet"
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentTypeError, match=r"/file is a file, expected a folder$"):
        saves.folder_to_make(str(tmp_path / "file" / "b"))


def test_a_folder_that_may_not_be_looked_into(monkeypatch, refuse):
    """Root may look into each, so none is made."""

    def refused(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "exists", refused)
    monkeypatch.setattr(Path, "is_dir", refused)
    for option, name in (("-o", "-o/--output"), ("--save-baseline", "--save-baseline")):
        line = refuse("synth", option, "secret/x")
        assert f"{name}: secret/x: Permission denied" in line


def test_the_command_refuses_it_at_once(refuse):
    assert "no/x.json: the folder no does not exist" in refuse("mutate", "--save", "no/x.json")
    for command in (("study", "-o"), ("synth", "--cache"), ("offload", "run", "x", "--figures")):
        assert "the name of the folder to write into is empty" in refuse(*command, "")
