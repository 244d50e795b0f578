"""Outputs appear whole or not at all; text files that a user gives."""

import os
import re
import stat

import pytest

from cdma.errors import UserError
from cdma.files import files_below, make_folder, read_csv, refuse_twice, replacing, write_text


def test_writes_a_new_file_with_the_usual_permissions(tmp_path):
    previous = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "a\nb\n")
    finally:
        os.umask(previous)
    assert (tmp_path / "new").read_bytes() == b"a\nb\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_name_that_is_not_utf_8_is_written_as_an_escape(tmp_path):
    write_text(tmp_path / "new", f"{os.fsdecode(b'bad%c.npy' % 0xFF)} \N{GREEK SMALL LETTER MU}")
    assert (tmp_path / "new").read_text("utf-8") == "bad\\udcff.npy \N{GREEK SMALL LETTER MU}"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "old"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_until_the_block_ends(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_file_keeps_its_permissions(tmp_path):
    """Nobody can read the new bytes before the end who could not read the old ones."""
    path = tmp_path / "file"
    for mode in (0o600, 0o444, 0o755):
        path.touch()
        path.chmod(mode)
        with replacing(path) as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) == mode | 0o200
            temporary.write_text("new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the name of the file to write is empty"),
        ("-", "-: this output cannot be stdout, give the name of a file"),
    ],
)
def test_names_of_no_file(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        write_text(name, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_text(link, "text")
    assert link.is_symlink()
    assert target.read_text() == "text"


def test_the_longest_name_a_folder_takes(tmp_path):
    write_text(tmp_path / ("n" * 255), "text")
    assert (tmp_path / ("n" * 255)).read_text() == "text"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (".", "is a folder, expected the name of a file to write"),
        ("missing/file", "the folder {parent} does not exist, create it first"),
        ("file/inside", "{parent} is a file, expected a folder"),
        ("pipe", "is not a regular file, and only a regular file can be replaced"),
    ],
)
def test_refuses(tmp_path, path, message):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / path
    message = f"{path}: {message.format(parent=path.parent)}"
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"), replacing(path):
        pytest.fail("nothing may be written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]


def test_refuses_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    # The system's answer is given by hand: root, who runs many test machines, may write anywhere.
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.touch", denied)
    message = rf"^{re.escape(str(tmp_path))}/file: cannot write there \(Permission denied\)$"
    with pytest.raises(UserError, match=message), replacing(tmp_path / "file"):
        pytest.fail("nothing may be written")


def test_make_folder_with_parents_twice(tmp_path):
    for _ in range(2):
        assert make_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()


def test_make_folder_refuses_a_file(tmp_path):
    (tmp_path / "file").touch()
    file = re.escape(f"{tmp_path}/file")
    with pytest.raises(UserError, match=rf"^{file}: is a file, expected a folder$"):
        make_folder(tmp_path / "file")
    with pytest.raises(UserError, match=rf"^{file}/a/b: {file} is a file, expected a folder$"):
        make_folder(tmp_path / "file" / "a" / "b")
    with pytest.raises(UserError, match=r"^the name of the folder to write into is empty$"):
        make_folder("")


def test_two_outputs_of_one_name_are_refused_before_there_is_a_file(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    refuse_twice(tmp_path / "new", tmp_path / "other")
    for same in (tmp_path / "new", tmp_path / "link", f"{tmp_path}/./new"):
        with pytest.raises(UserError, match="two outputs would be this one file"):
            refuse_twice(tmp_path / "new", same)


def test_files_below_a_folder(tmp_path, lock):
    (tmp_path / "below" / "folder.npy").mkdir(parents=True)
    names = ("a.npy", "b.txt", "below/c.pt", "below/folder.npy/d.npy")
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "link.npy").symlink_to(tmp_path / "a.npy")
    found = {str(file.relative_to(tmp_path)) for file in files_below(tmp_path, (".npy", ".pt"))}
    assert found == {*names, "link.npy"} - {"b.txt"}
    lock(tmp_path / "below")
    message = f"{tmp_path}/below: cannot read this folder (Permission denied)"
    with pytest.raises(UserError, match=rf"^{re.escape(message)}$"):
        files_below(tmp_path, [".npy"])
    failures = {}
    assert {file.name for file in files_below(tmp_path, [".npy"], failures)} == {
        *("a.npy", "link.npy")
    }
    assert failures == {f"{tmp_path}/below": message}


def test_a_csv_file_may_have_a_byte_order_mark(tmp_path):
    """Spreadsheets write one."""
    plain, marked = tmp_path / "plain.csv", tmp_path / "marked.csv"
    plain.write_bytes(b"layer,fwd_ms\nconv1,2\n")
    marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    found = ["layer", "fwd_ms"], [{"layer": "conv1", "fwd_ms": "2"}]
    assert read_csv(plain, "times", ("layer",)) == found
    assert read_csv(marked, "times", ("layer",)) == found


def test_a_csv_file_that_lacks_a_column_names_those_it_has(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("layer;fwd_ms\nconv1;2\n")
    with pytest.raises(UserError, match=r"a.csv: lacks the column layer \(columns found: layer;fw"):
        read_csv(path, "times", ("layer", "fwd_ms"))
    path.write_text("")
    with pytest.raises(UserError, match=r"lacks the column layer \(columns found: none\)"):
        read_csv(path, "times", ("layer", "fwd_ms"))


@pytest.mark.parametrize("data", [None, b"layer\xff\n", b'layer\n"' + b"x" * (1 << 18)])
def test_a_csv_file_that_cannot_be_read(tmp_path, data):
    if data is not None:
        (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(UserError, match=r"a.csv: cannot read these times \("):
        read_csv(tmp_path / "a.csv", "times", ())
