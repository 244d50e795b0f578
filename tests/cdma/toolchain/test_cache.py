"""The cache: where it is, and that many processes share what one of them builds."""

import multiprocessing
import time

import platformdirs
import pytest

from cdma.errors import UserError
from cdma.toolchain.cache import cache_folder, digest, kept, kept_json, locked


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert cache_folder(part="builds") == tmp_path / "here" / "builds"
    assert cache_folder(tmp_path / "given") == tmp_path / "given"


def test_without_it_the_users_cache_folder_is_taken(tmp_path, monkeypatch):
    monkeypatch.delenv("CDMA_CACHE", raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_: tmp_path / "user")
    assert cache_folder(part="steps") == tmp_path / "user" / "steps"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot keep builds there .*CDMA_CACHE$"):
        cache_folder(tmp_path / "file" / "cache")


@pytest.mark.parametrize("content", [None, b"", b'{"outcome":', b"\xff"])
def test_a_result_that_cannot_be_read_is_not_there(tmp_path, content):
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_bytes(content)
    assert kept_json(file) is None
    file.write_text('{"outcome": "proven"}')
    assert kept_json(file) == {"outcome": "proven"}


def test_digests_differ_with_every_part():
    assert digest("a", ["b"]) == digest("a", ["b"])
    assert len({digest("a", ["b"]), digest("a", "b"), digest("ab"), digest("a", ["b"], "")}) == 4


def test_one_process_builds_and_the_others_wait(tmp_path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        folders = pool.map(_build_slowly, [tmp_path] * 3)
    assert set(folders) == {tmp_path / "name"}
    assert (tmp_path / "built").read_text() == "x"
    assert (tmp_path / "name" / "result").read_text() == "whole"


def test_what_fails_is_not_kept(tmp_path):
    def fail(work):
        (work / "out").mkdir()
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        kept(tmp_path, "name", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["name.lock"]
    assert kept(tmp_path, "name", lambda work: (work / "out").mkdir()).is_dir()


def test_a_lock_ends_with_its_block(tmp_path):
    for _ in range(2):
        with locked(tmp_path / "lock"):
            assert (tmp_path / "lock").is_file()


def _build_slowly(folder):
    def make(work):
        with (folder / "built").open("a") as file:
            file.write("x")
        time.sleep(0.5)
        (work / "out").mkdir()
        (work / "out" / "result").write_text("whole")

    return kept(folder, "name", make)
