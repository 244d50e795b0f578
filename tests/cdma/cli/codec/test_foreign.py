"""``cdma convert --to`` and ``--from``."""

from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.golden import read_container, write_container


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*argv) -> int:
    return main(["convert", *map(str, argv)])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize(
    ("name", "options"),
    [("iaa", []), ("aie-ml", ["--mask-order", "lsb"]), ("nvdla", ["--group-words", 64])],
)
def test_round_trip(capsys, dtype, name, options):
    rng = np.random.default_rng(2)
    array = (rng.integers(0, 9, (16, 40)) * (rng.random((16, 40)) < 0.4)).astype(dtype)
    write_container("a.zvc", array)
    if (name, dtype) == ("nvdla", "float32"):
        assert run("a.zvc", "--to", name, *options, "-o", "b") == 2
        assert "Elements of NVDLA must have 8 or 16 bits, not 32" in capsys.readouterr().err
        return
    assert run("a.zvc", "--to", name, *options, "-o", "b") == 0
    back = ["--dtype", dtype, "--shape", "16,40", "-o", "c.zvc"]
    assert run("b", "--from", name, *options, *back) == 0
    np.testing.assert_array_equal(read_container("c.zvc"), array, strict=True)


def test_nvdla_by_the_name_of_one_of_its_files():
    array = np.arange(-32, 32, dtype="i1").reshape(8, 8)
    write_container("a.zvc", array)
    group = ["--group-words", "64"]
    assert run("a.zvc", "--to", "nvdla", *group, "-o", "b") == 0
    back = ["--dtype", "int8", "--shape", "8,8", "-o", "c.zvc"]
    assert run("b.wmb", "--from", "nvdla", *group, *back) == 0
    np.testing.assert_array_equal(read_container("c.zvc"), array, strict=True)


@pytest.mark.parametrize("end", ["wmb", "wt", "wgs"])
def test_a_file_of_nvdla_of_another_size_is_named(capsys, end):
    write_container("a.zvc", np.arange(64, dtype="i1"))
    group = ["--group-words", "64"]
    assert run("a.zvc", "--to", "nvdla", *group, "-o", "b") == 0
    assert capsys.readouterr().out.startswith("wrote b.wmb, b.wt and b.wgs: int8 64, 64 bytes as")
    assert {Path(f"b.{name}").stat().st_size for name in ("wmb", "wt", "wgs")} == {128}
    Path(f"b.{end}").write_bytes(bytes(20))
    back = ["--dtype", "int8", "--shape", "64", "-o", "c.zvc"]
    capsys.readouterr()
    assert run("b.wmb", "--from", "nvdla", *group, *back) == 2
    assert f"b.{end}: must have 128 bytes, not 20\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--to", "aie-ml"], "--mask-order is needed for aie-ml"),
        (["--to", "nvdla"], "--group-words is needed for nvdla"),
        (["--to", "iaa", "--mask-order", "lsb"], "--mask-order is not for iaa"),
        (["--to", "iaa", "--from", "iaa"], "--to and --from exclude each other"),
        (["--to", "iaa", "--index", "i"], "--index is for the engine's data"),
        (["--to", "iaa", "--stripe-bytes", "1024"], "--stripe-bytes is for the engine's data"),
        (["--to", "iaa", "--raw", "never"], "--raw is for the engine's data"),
        (["--from", "iaa", "--raw", "always"], "--raw is for the engine's data"),
        (["--to", "iaa", "--dtype", "int8"], "--dtype is for writing a container"),
        (["--from", "iaa"], "a container needs --dtype"),
        (["--from", "nvdla", "--group-words", "8", "--dtype", "int8"], "needs a shape"),
        (["--group-words", "8"], "--group-words goes with --to or --from"),
        ([], "the engine's data needs --index"),
    ],
)
def test_refusals(capsys, argv, message):
    write_container("a.zvc", np.zeros(64, "i1"))
    for end in (".wmb", ".wt", ".wgs"):
        (open(f"a.zvc{end}", "wb")).close()
    assert run("a.zvc", *argv, "-o", "b.bin") == 2
    assert message in capsys.readouterr().err


def test_damaged_data_is_named(capsys):
    with open("b.iaa", "wb") as file:
        file.write(b"\1\0\0")
    assert run("b.iaa", "--from", "iaa", "--dtype", "float32", "-o", "c.zvc") == 2
    assert "b.iaa" in (text := capsys.readouterr().err)
    assert "mask of 4 bytes expected" in text
