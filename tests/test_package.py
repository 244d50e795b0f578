"""The wheel works where the sources are not: generate and co-simulate from an empty environment."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cdma.offload import records

ROOT = Path(__file__).parents[1]
FOLDERS = ("cdma", "golden", "hdl", "sim", "verify", "synth")
RECORDS = [path for path in vars(records).values() if isinstance(path, Path) and path.is_file()]

#: They build a wheel and fill an environment with it from the package index.
pytestmark = pytest.mark.slow


def run(*command, cwd):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CDMA_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # Built from a copy, as setuptools writes into the sources, where others build at the same time.
    sources = folder / "sources"
    sources.mkdir()
    for name in (*FOLDERS, "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, sources / name)
    (sources / "docs" / "measurements").mkdir(parents=True)
    for path in RECORDS:
        shutil.copy(path, sources / "docs" / "measurements")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, sources, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Python of an environment that holds the wheel with what simulation needs, nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pinned = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", pinned, f"{wheel}[sim]", cwd=folder)
    return python


def test_wheel_holds_every_module_and_nothing_else(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    sources = {
        ("" if folder == "cdma" else "cdma/") + path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources | {f"cdma/measurements/{path.name}" for path in RECORDS}


def test_wheel_generates(python, tmp_path):
    run(
        python,
        "-m",
        "cdma",
        "generate",
        "decompressor",
        "--lanes",
        "4",
        "-o",
        tmp_path,
        cwd=tmp_path,
    )
    manifest = json.loads((tmp_path / "decompressor.json").read_text())
    assert manifest["parameters"] == {
        "lanes": 4,
        "word_bits": 32,
        "block_words": 32,
        "tail": "zeros",
        "zero_value": 0,
        "fold_negative_zero": False,
        "target": "fpga",
    }
    assert "module cdma_decompressor (" in (tmp_path / "decompressor.v").read_text()


def test_wheel_has_the_measurements_of_the_offload_model(python, tmp_path):
    """The measured rate of the engine, and the measured gradients."""
    command = (python, "-m", "cdma", "offload", "run", "vgg-d", "--scheme", "cdma-zv", "--json")
    report = json.loads(run(*command, "--ratio", "2.6", "--energy", "1,1,1", cwd=tmp_path))
    assert "measured in" in report["codec"]
    np.savez(tmp_path / "vgg.npz", relu1=np.arange(4096, dtype=np.float32))
    command = (python, "-m", "cdma", "offload", "run", "vgg-d", "--densities", "vgg.npz", "--json")
    assert json.loads(run(*command, "--lossy", "grad=0.01", cwd=tmp_path))["rows"]


def test_wheel_co_simulates(python, tmp_path):
    words = np.arange(200, dtype="<u2") % 3
    np.save(tmp_path / "words.npy", words)
    command = (python, "-m", "cdma", "cosim", "words.npy", "--unit", "roundtrip", "--lanes", "4")
    report = json.loads(run(*command, "--output", "out.bin", "--json", cwd=tmp_path))
    assert report["words"] == words.size
    assert (tmp_path / "out.bin").read_bytes() == words.tobytes()
