"""``fusesoc run`` generates and checks units and engine, and simulates the units."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.toolchain import verilator

pytest.importorskip("fusesoc")

CORES = Path(__file__).parents[2] / "integration" / "fusesoc"
MINE = """CAPI=2:
name: "mine:mine:mine:0"
filesets: {{rtl: {{depend: ["cdma:generator:units"]}}}}
generate: {{units: {{generator: cdma_units, parameters: {parameters}}}}}
targets: {{default: {{filesets: [rtl], generate: [units], toplevel: my_top}}}}
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def fusesoc(tmp_path):
    """Run FuseSoC in a folder of its own; gives its exit status and what it prints."""
    (tmp_path / "home").mkdir()

    def run(*words):
        path = [str(Path(sys.executable).parent), verilator.environment()["PATH"]]
        home = {"HOME": str(tmp_path / "home"), "PATH": os.pathsep.join(path)}
        command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(CORES)]
        done = subprocess.run(
            [*command, "--cores-root", str(tmp_path), *words],
            cwd=tmp_path,
            env={**verilator.environment(), **home},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_simulates(fusesoc, iverilog):
    status, text = fusesoc("run", "--target", "sim", "cdma:dma:units")
    assert status == 0, text
    assert "PASS: 50 packets, " in text


@pytest.mark.parametrize(
    ("target", "core"),
    [
        ("lint_compressor", "cdma:dma:units"),
        ("lint_decompressor", "cdma:dma:units"),
        ("lint", "cdma:dma:engine"),
    ],
)
def test_lints(fusesoc, target, core):
    status, text = fusesoc("run", "--target", target, core)
    assert status == 0, text
    assert "%Warning" not in text


def test_a_core_of_the_user(fusesoc, tmp_path):
    parameters = "{unit: decompressor, config: 2x8b32, prefix: my}"
    (tmp_path / "mine.core").write_text(MINE.format(parameters=parameters))
    status, text = fusesoc("run", "--setup", "--tool", "icarus", "mine:mine:mine")
    assert status == 0, text
    (file,) = tmp_path.glob("build/**/src/**/*.v")
    assert file.name == "my_decompressor.v"
    assert "module my_decompressor" in file.read_text()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            "{unit: both, channels: 4}",
            "parameter of unit both must be one of unit, prefix, config, bench, not 'channels'",
        ),
        ("{config: 7x8}", "Number of lanes must be a power of two in 2..64, not 7"),
        ("{unit: engine, channels: 5}", "Number of channels must be 1, 2, 4 or 8, not 5"),
    ],
)
def test_mistakes(fusesoc, tmp_path, parameters, message):
    (tmp_path / "mine.core").write_text(MINE.format(parameters=parameters))
    status, text = fusesoc("run", "--setup", "--tool", "icarus", "mine:mine:mine")
    assert status != 0
    assert f"cdma: {message}" in text
    assert "Traceback" not in text
