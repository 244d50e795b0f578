"""``cdma generate``: the files it writes, and what it refuses."""

import json
import subprocess
import sys

import pytest

from cdma.cli.main import main
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config


@pytest.fixture
def quick(monkeypatch):
    """Replace the hardware's part, which takes seconds; ``emit`` has tests of its own."""

    def verilog(unit, config):
        return f"module cdma_{unit}; // {config}\nendmodule\n"

    def manifest(unit, config):
        return {"unit": unit, "name": config.name, "latency_cycles": 9}

    monkeypatch.setattr(emit, "verilog", verilog)
    monkeypatch.setattr(emit, "manifest", manifest)


def test_help_has_an_example(helped):
    assert "example:\n  cdma generate " in helped("generate")


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_writes_both_files(quick, tmp_path, capsys, unit):
    folder = tmp_path / "made" / "for it"
    argv = ["--word-bits", "16", "--lanes", "4", "--block-words", "48", "-o", str(folder)]
    assert main(["generate", unit, *argv]) == 0
    config = Config.of(4, 16, 48)
    assert (folder / f"{unit}.v").read_text() == emit.verilog(unit, config)
    assert json.loads((folder / f"{unit}.json").read_text()) == emit.manifest(unit, config)
    assert {path.suffix for path in folder.iterdir()} == {".v", ".json"}
    out = capsys.readouterr().out
    assert f"wrote {folder}/{unit}.v and {folder}/{unit}.json" in out
    assert "4 lanes of 16 bits, blocks of 48 words, 8 bytes a cycle, latency 9 cycles" in out


def test_json_is_the_manifest(quick, report, tmp_path):
    printed = report("generate", "compressor", "-o", tmp_path)
    assert printed == json.loads((tmp_path / "compressor.json").read_text())
    assert printed["name"] == "8x32"


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_the_same_bytes_in_every_process(tmp_path, unit):
    written = []
    for seed in ("1", "2"):
        size = ("--lanes", "2", "--word-bits", "8", "--block-words", "32")
        argv = [sys.executable, "-m", "cdma", "generate", unit, *size]
        done = subprocess.run(
            [*argv, "-o", str(tmp_path / seed)],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        written.append({path.name: path.read_bytes() for path in (tmp_path / seed).iterdir()})
    assert written[0] == written[1]
    assert f"module cdma_{unit}".encode() in written[0][f"{unit}.v"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--lanes", 3), "Number of lanes must be a power of two in 2..64, not 3"),
        (
            ("--lanes", 64),
            "Number of lanes must divide the block length 32, not 64: take blocks of 64 words",
        ),
        (("--word-bits", 24), "Word width must be 8, 16, 32 or 64 bits, not 24"),
        (
            ("--block-words", 40),
            "Block length must be a positive multiple of the word width 32, not 40",
        ),
    ],
)
def test_refuses_and_makes_no_folder(refuse, tmp_path, argv, message):
    folder = tmp_path / "out"
    assert refuse("generate", "compressor", *argv, "-o", folder) == f"cdma generate: {message}"
    assert not folder.exists()


def test_unknown_unit(refuse, tmp_path):
    line = refuse("generate", "engine", "-o", tmp_path)
    assert line.startswith("cdma generate: argument unit: invalid choice: 'engine' ")


def test_without_yosys(refuse, tmp_path, monkeypatch):
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("PATH", "")
    emit._generate.cache_clear()
    line = refuse("generate", "compressor", "-o", tmp_path / "out")
    assert line.startswith("cdma generate: Yosys, which writes the Verilog, is missing or failed: ")
    assert not (tmp_path / "out").exists()


def test_a_file_where_the_folder_should_be(quick, refuse, tmp_path):
    (tmp_path / "file").write_text("mine")
    line = refuse("generate", "compressor", "-o", tmp_path / "file")
    assert line == f"cdma generate: {tmp_path}/file: cannot create this folder (File exists)"
    assert (tmp_path / "file").read_text() == "mine"


def test_both_files_or_neither(quick, refuse, tmp_path):
    (tmp_path / "compressor.v").write_text("old")
    (tmp_path / "compressor.json").mkdir()
    line = refuse("generate", "compressor", "-o", tmp_path)
    assert line.startswith(f"cdma generate: {tmp_path}/compressor.json: is a folder")
    assert (tmp_path / "compressor.v").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
