"""The C compiler of this machine."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cdma.errors import UserError
from cdma.toolchain.tool import Tool, first_line

#: Warnings are errors; nothing but the language itself is there.
STRICT = ("-std=c99", "-ffreestanding", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")


def c_compiler() -> Tool:
    """The compiler ``cc``. UserError when there is none."""
    path = shutil.which("cc") or shutil.which("gcc")
    if path is None:
        raise UserError("no C compiler: install gcc (Debian: apt-get install gcc)")
    return Tool("C compiler", first_line(path, "--version"), (path,))


def compile_c(
    sources: Sequence[Path], output: Path, options: Sequence[str] = STRICT, shared: bool = False
) -> None:
    """Compile C sources.

    Parameters
    ----------
    sources : sequence of Path
    output : Path
        Program, or with ``shared`` a library that a process can load.
    options : sequence of str
        Options before the sources.
    shared : bool
        Make a library.

    Raises
    ------
    UserError
        When there is no compiler or it complains: its first error.
    """
    tool = c_compiler()
    link = ["-shared", "-fPIC"] if shared else []
    command = [*tool.command, *options, *link, *map(str, sources), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if " error: " in line]
        raise UserError(f"cc failed: {(errors or ['exit status ' + str(done.returncode)])[0]}")
