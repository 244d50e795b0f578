"""What a file, a file with a key and a folder stand for."""

import json
import re

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.study.source import described, names_in


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    np.savez(tmp_path / "a.npz", x=np.ones(3), y=np.zeros(2))
    np.save(tmp_path / "below" / "b.npy", np.ones(3))
    (tmp_path / "manifest.json").write_text("{}")
    return tmp_path


def test_names(folder):
    archive, single = f"{folder}/a.npz", f"{folder}/below/b.npy"
    assert names_in(f"{archive}:y") == [f"{archive}:y"]
    assert names_in(archive) == [f"{archive}:x", f"{archive}:y"]
    assert names_in(single) == [single]
    assert names_in(str(folder)) == [f"{archive}:x", f"{archive}:y", single]


def test_a_folder_without_tensors(tmp_path):
    with pytest.raises(UserError, match=rf"^{tmp_path}: holds no file of tensors \(.npy, .npz, "):
        names_in(str(tmp_path))


def test_no_such_file(tmp_path):
    with pytest.raises(UserError, match=r"a.npy: No such file or directory$"):
        names_in(f"{tmp_path}/a.npy")


def test_no_such_folder(tmp_path):
    with pytest.raises(UserError, match=r"nothing: no such file or folder$"):
        names_in(f"{tmp_path}/nothing")


def test_a_folder_that_cannot_be_read(folder, lock):
    lock(folder / "below")
    message = f"{folder}/below: cannot read this folder (Permission denied)"
    with pytest.raises(UserError, match=rf"^{re.escape(message)}$"):
        names_in(str(folder))
    failures = {}
    assert names_in(str(folder), failures) == [f"{folder}/a.npz:x", f"{folder}/a.npz:y"]
    assert names_in(f"{folder}/below", failures) == []
    assert failures == {f"{folder}/below": message}


def write_list(folder, *files, name="manifest.json"):
    (folder / name).write_text(json.dumps({"tensors": [{"file": file} for file in files]}))


def test_metadata_are_those_of_the_list_beside_the_file(folder):
    write_list(folder, "a.npz")
    write_list(folder / "below", "./b.npy", name="capture.json")
    (folder / "link.npy").symlink_to(folder / "below" / "b.npy")
    found = dict(described([str(folder), f"{folder}/a.npz"]))
    assert [(name.rpartition("/")[2], data.listed_in) for name, data in found.items()] == [
        ("a.npz:x", "manifest.json"),
        ("a.npz:y", "manifest.json"),
        ("b.npy", "capture.json"),
        ("link.npy", ""),
    ]


def test_tensors_that_the_list_lacks_are_named_once(folder, capsys):
    for name in ("c.npy", "d.npy"):
        np.save(folder / name, np.ones(3))
    write_list(folder, "a.npz")
    for _ in range(2):
        assert len(described([str(folder)])) == 5
    assert capsys.readouterr().err == (
        f"{folder}/c.npy and 1 more: not listed in {folder}/manifest.json, described by name only\n"
    )


def test_without_a_list_nothing_is_said(folder, capsys):
    (folder / "manifest.json").unlink()
    assert len(described([str(folder)])) == 3
    assert capsys.readouterr().err == ""


def test_a_listed_file_that_is_missing(folder):
    write_list(folder, "a.npz", "gone.npy")
    text = "no such file, but manifest.json lists it"
    with pytest.raises(UserError, match=rf"^{folder}/gone.npy: {text}$"):
        described([str(folder)])
    failures = {}
    assert len(described([str(folder)], failures)) == 3
    assert failures == {f"{folder}/gone.npy": text}
    assert len(described([f"{folder}/a.npz"])) == 2  # the others are not asked for
