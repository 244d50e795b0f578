"""The LiteX system: its simulation, its log, and what happens when something is wrong."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.toolchain import cc

ROOT = Path(__file__).parents[2]
LITEX = ROOT / "integration" / "litex"
MEASURED = ROOT / "docs" / "measurements" / "soc.json"
NO_COMPILER = (
    "soc: skipped: no RISC-V compiler: install riscv64-unknown-elf-gcc "
    "(Debian: apt-get install gcc-riscv64-unknown-elf)\n"
)


def command(*words, **options):
    """Run ``python integration/litex``."""
    call = [sys.executable, str(LITEX), *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **options)


def without_cycles(log: list[str]) -> list[str]:
    """The log without the columns of cycles, which depend on the version of the C compiler."""
    rows = [line.split() for line in log]
    return [" ".join(row[:5] + row[9:] if len(row) == 10 else row) for row in rows]


@pytest.fixture(scope="module")
def engine_class():
    """The engine as a module of LiteX."""
    pytest.importorskip("litex", reason="LiteX is not installed: pip install 'cdma-engine[soc]'")
    spec = importlib.util.spec_from_file_location("litex_engine", LITEX / "engine.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Engine


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """Folder of a system that was built and run, and what the run printed."""
    pytest.importorskip("litex", reason="LiteX is not installed: pip install 'cdma-engine[soc]'")
    try:
        cc.riscv_compiler()
    except UserError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("soc")
    done = command(folder / "soc", "--save", folder / "soc.json")
    return folder, done


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({}, "Number of channels must be 1 in LiteX, not 4"),
        ({"channels": 1}, "Number of address bits must be 32 in LiteX, not 48"),
        ({"channels": 2, "address_bits": 32}, "Number of channels must be 1 in LiteX, not 2"),
    ],
)
def test_sizes_that_are_not_connected(engine_class, size, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        engine_class(EngineConfig(**size))


def test_a_size_that_is_connected(engine_class):
    engine = engine_class(EngineConfig(channels=1, address_bits=32))
    assert len(engine.channel.ar.addr) == 32


def test_without_a_compiler_it_is_skipped(tmp_path):
    done = command(tmp_path / "soc", env=os.environ | {"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, NO_COMPILER, "")
    assert not (tmp_path / "soc").exists()


def test_the_log_of_the_documents_is_a_success():
    log = json.loads(MEASURED.read_text())["uart"]
    assert log[-1] == "PASS"
    assert not [line for line in log if "WRONG" in line]


@pytest.mark.slow
def test_the_driver_runs_on_the_system(system):
    folder, done = system
    assert done.returncode == 0, done.stderr
    assert done.stdout == (folder / "soc" / "uart.log").read_text()
    found, documented = (json.loads(file.read_text()) for file in (folder / "soc.json", MEASURED))
    assert without_cycles(found["uart"]) == without_cycles(documented["uart"])


@pytest.mark.slow
def test_block_ram_as_device_memory(system):
    done = command(system[0] / "ram", "--block-ram")
    assert done.returncode == 0, done.stderr
    documented = json.loads(MEASURED.read_text())["uart"]
    assert without_cycles(done.stdout.splitlines()) == without_cycles(documented)


@pytest.mark.slow
def test_a_wrong_byte_is_found(system):
    """One bit of an expected stream, in the ROM, is flipped: the firmware reports a failure."""
    folder = system[0] / "soc"
    stream = (folder / "software" / "firmware.bin").read_bytes().find(expected_stream())
    assert stream > 0
    (rom,) = folder.glob("*rom.init")
    text = rom.read_text()
    words = text.split()
    words[stream // 4 + 100] = f"{int(words[stream // 4 + 100], 16) ^ 1:08x}"
    try:
        rom.write_text("\n".join(words) + "\n")
        done = subprocess.run(
            [folder / "simulate", "20000000"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        rom.write_text(text)
    log = done.stdout.splitlines()
    assert (done.returncode, log[-1]) == (1, "FAIL")
    wrong = [line.split()[0] for line in log if line.endswith("WRONG")]
    assert wrong == ["digits", "capacity", "after"]


@pytest.mark.slow
def test_a_program_that_does_not_end(system):
    folder = system[0] / "soc"
    done = subprocess.run(
        [folder / "simulate", "1000"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, "no end within 1000 cycles\n")


def expected_stream() -> bytes:
    """Stream of the first tensor."""
    from sklearn.datasets import load_digits

    from cdma.golden import engine

    words = load_digits().data.astype("<f4").reshape(-1)[:4096]
    config = EngineConfig(channels=1, lanes=2, word_bits=32, stripe_bytes=1024)
    return engine.offload(words, config, crc=True).stream.tobytes()


def test_the_page_shows_the_measurements(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "draw")
    page = importlib.import_module("system")
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.ABSENT not in text
    assert page.fill(text) == text, "run python docs/draw and commit the page"
