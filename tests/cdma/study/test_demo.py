"""Tensors of folders through both units."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import compress
from cdma.study import demo


def test_every_tensor_through_both_units(tmp_path):
    for name, words in {"a": np.arange(90, dtype="<u2"), "b": np.zeros(70, "<u2")}.items():
        np.save(tmp_path / f"{name}.npy", words)
    messages = []
    rows = demo.run(demo.words_in([tmp_path]), 4, messages.append)
    assert [(row["tensor"], row["unit"]) for row in rows] == [
        (tensor, unit) for tensor in "ab" for unit in ("compressor", "decompressor")
    ]
    assert {row["verdict"] for row in rows} == {"equal"}
    assert {row["config"] for row in rows} == {"4x16"}
    stream = compress(np.load(tmp_path / "a.npy")).size
    assert [(row["bytes_in"], row["bytes_out"]) for row in rows[:2]] == [
        (180, stream),
        (stream, 180),
    ]
    assert "compressor 4x16: 2 tensors" in messages


def test_names_of_several_folders_are_whole(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "a.npy", np.arange(4, dtype="f4"))
    folders = [str(tmp_path / folder) for folder in ("one", "two")]
    assert list(demo.words_in(folders)) == [f"{folder}/a" for folder in folders]
    assert list(demo.words_in(folders[:1])) == ["a"]


def test_a_folder_that_cannot_be_read(tmp_path, lock):
    np.save(tmp_path / "a.npy", np.arange(4, dtype="f4"))
    (tmp_path / "below").mkdir()
    lock(tmp_path / "below")
    with pytest.raises(UserError, match=r"/below: cannot read this folder \(Permission denied\)$"):
        demo.words_in([tmp_path])


def test_refuses_a_number_of_lanes():
    words = {"a": np.zeros(4, "<u4")}
    with pytest.raises(UserError, match=r"^Number of lanes must be a power of two in 2\.\.64"):
        demo.run(words, 3, lambda text: None)


@pytest.mark.slow
def test_the_largest_tensor_through_an_engine():
    tensors = {
        "a": np.zeros(40, "<u4"),
        "b": np.arange(9000, dtype="<u4") % 3,
        "c": np.ones(9, "<u4"),
    }
    messages = []
    out, back = demo.run_engine(tensors, 2, 4, messages.append)
    assert (out["tensor"], out["unit"], back["unit"]) == ("b", "engine out", "engine back")
    assert {row["verdict"] for row in (out, back)} == {"equal"}
    assert out["bytes_in"] == back["bytes_out"] == 36_000
    assert 0.66 < out["bytes_out"] / out["bytes_in"] < 0.72
    assert out["cycles"] > 36_000 / 32
    assert set(demo.COLUMNS) == set(out)
    assert messages[0] == "engine 2x4x32s4096l8: b, out to host memory and back"


def test_channels_of_the_engine_are_checked():
    with pytest.raises(UserError, match=r"^Number of channels must be 1, 2, 4 or 8, not 3$"):
        demo.run_engine({"a": np.zeros(4, "<u4")}, 3, None, print)
