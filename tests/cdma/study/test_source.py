"""What a file, a file with a key and a folder stand for."""

import re

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.study.source import names_in


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
