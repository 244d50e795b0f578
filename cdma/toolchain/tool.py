"""A tool, and one run of one.

A tool runs in a scratch folder of its own and sees its files by bare names: the sandbox of YoWASP
cannot see ``/tmp``, but it always sees the working folder.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cdma.errors import UserError
from cdma.toolchain import process

#: Name of the output that holds what a tool wrote on its standard output.
STDOUT = "stdout"
#: File in the scratch folder that a tool may log into.
LOG = "tool.log"


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
    environment : mapping of str to str
        Variables that it needs beside those of this process.
    """

    name: str
    version: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)


def installed(name: str, program: str, version: str, cure: str, *options: str) -> Tool:
    """A program on the PATH.

    Parameters
    ----------
    name : str
        Name for messages.
    program : str
        Its file.
    version : str
        Option that makes it print its version.
    cure : str
        Command that installs it.
    *options : str
        Start of every command line.

    Raises
    ------
    UserError
        When it is not installed or does not run.
    """
    path = shutil.which(program)
    if path is None:
        raise UserError(f"{name} not installed: no {program} on the PATH ({cure})")
    return Tool(name, first_line(path, version), (path, *options))


def first_line(*command: str) -> str:
    """First line that a command prints. UserError when it does not run."""
    try:
        done = process.run(command, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{command[0]} does not run ({error})") from error
    return done.stdout.partition("\n")[0]


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
        Names of the files that it writes; ``STDOUT`` is its standard output.
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
            raise UserError(f"{tool.name} failed: {_complaint(done, folder / LOG, missing)}")
        texts = {file: path.read_text(encoding="utf-8") for file, path in found.items()}
    if STDOUT in outputs:
        texts[STDOUT] = done.stdout
    return texts


def said(
    tool: Tool, arguments: list[str], inputs: dict[str, str], scratch: Path
) -> tuple[int, str]:
    """Run a tool once as :func:`execute` does, for what it prints: exit status, and all output."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="run-") as name:
        done = _run(tool, arguments, inputs, Path(name))
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def _run(
    tool: Tool, arguments: list[str], inputs: dict[str, str], folder: Path
) -> subprocess.CompletedProcess:
    for file, text in inputs.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    return process.run(
        [*tool.command, *arguments],
        cwd=folder,
        env=os.environ | tool.environment,
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
