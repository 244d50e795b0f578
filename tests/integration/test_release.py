"""A release is complete, and its bytes depend on the commit alone."""

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from cdma import __version__
from cdma.hdl.zvc.config import NAMED
from cdma.toolchain import cc

ROOT = Path(__file__).parents[2]

#: A release is built in environments that are filled from the package index.
slow = pytest.mark.slow


def make(checkout, output):
    environment = {name: text for name, text in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    return subprocess.run(
        [sys.executable, "integration/release", str(output)],
        cwd=checkout,
        env={**environment, "PYTHONHASHSEED": "random"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clone of the last commit."""
    folder = tmp_path_factory.mktemp("clone") / "cdma"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def releases(checkout, tmp_path_factory):
    """Two releases of one commit, from two checkouts."""
    other = tmp_path_factory.mktemp("other") / "checkout"
    subprocess.run(["git", "clone", "-q", ROOT, other], check=True)
    folders = []
    for place in (checkout, other):
        folders.append(tmp_path_factory.mktemp("release") / "out")
        done = make(place, folders[-1])
        assert done.returncode == 0, done.stderr
    return folders


@slow
def test_two_releases_are_the_same_bytes(releases):
    one, other = ({file.name: file.read_bytes() for file in each.iterdir()} for each in releases)
    assert set(one) == set(other)
    assert [name for name, content in one.items() if content != other[name]] == []


@slow
def test_everything_is_there_with_its_checksum(releases):
    folder = releases[0]
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {
        f"cdma_engine-{__version__}-py3-none-any.whl",
        f"cdma_engine-{__version__}.tar.gz",
        f"cdma-verilog-{__version__}.tar.gz",
        "CHANGELOG.md",
    }
    assert {file.name for file in folder.iterdir()} == {*sums, "SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@slow
def test_verilog_of_each_named_configuration_and_of_engines(releases):
    name = f"cdma-verilog-{__version__}"
    with tarfile.open(releases[0] / f"{name}.tar.gz") as packed:
        files = set(packed.getnames())
    units = {
        f"{name}/{config}/{unit}.{kind}"
        for config in (*NAMED, *(f"zvcplus-{type_}" for type_ in ("fp32", "fp16", "bf16", "int8")))
        for unit in ("compressor", "decompressor")
        for kind in ("v", "json")
    }
    engines = {
        f"{name}/engine-{channels}x8x32s4096l16/{file}"
        for channels in (1, 2, 4, 8)
        for file in ("engine.v", "engine.json", "cdma_regs.h", "registers.md", "cdma.rdl")
    }
    common = {f"{name}/{file}" for file in ("LICENSE", "driver/cdma.c", "driver/cdma.h")}
    assert files == common | units | engines


@slow
def test_the_driver_compiles_with_the_registers_of_an_engine(releases, tmp_path):
    name = f"cdma-verilog-{__version__}"
    with tarfile.open(releases[0] / f"{name}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / name
    includes = [f"-I{folder / 'driver'}", f"-I{folder / 'engine-2x8x32s4096l16'}"]
    options = (*cc.STRICT, *includes)
    cc.compile_c([folder / "driver" / "cdma.c"], tmp_path / "driver.so", options, shared=True)


@slow
def test_changes_and_full_folders_are_refused(checkout, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert make(checkout, tmp_path / "full").stderr.endswith("the folder is not empty\n")
    (checkout / "new").touch()
    done = make(checkout, tmp_path / "out")
    (checkout / "new").unlink()
    assert done.returncode == 2
    assert done.stderr == "release: 1 changes are not committed; commit them first\n"


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    for output in (tmp_path / "file", tmp_path / "file" / "below"):
        done = make(ROOT, output)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"release: {output}: ")
        assert done.stderr.endswith("is a file, expected a folder\n")
    assert (tmp_path / "file").read_text() == "mine"


def test_without_a_folder():
    command = [sys.executable, "integration/release"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: the following arguments are required: DIR\n")


def test_help_makes_no_folder(tmp_path):
    command = [sys.executable, ROOT / "integration/release", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "example: python integration/release dist" in done.stdout
    assert not list(tmp_path.iterdir())
