"""The C compiler of this machine, and the one of bare RISC-V."""

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
    _run(command, "cc")


#: Cross compilers of bare RISC-V, in the order in which they are looked for.
RISCV = ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc")


def riscv_compiler() -> Tool:
    """A compiler for RISC-V without an operating system. UserError when there is none."""
    for name in RISCV:
        if path := shutil.which(name):
            return Tool("RISC-V compiler", first_line(path, "--version"), (path,))
    raise UserError(
        f"no RISC-V compiler: install {RISCV[0]} (Debian: apt-get install gcc-riscv64-unknown-elf)"
    )


def compile_riscv(
    sources: Sequence[Path], output: Path, options: Sequence[str], libraries: Sequence[str] = ()
) -> None:
    """Compile and link a program for RISC-V.

    Parameters
    ----------
    sources : sequence of Path
        C and assembly.
    output : Path
        Program, as ELF.
    options, libraries : sequence of str
        Options before and after the sources.

    Raises
    ------
    UserError
        When there is no compiler or it complains: its first error.
    """
    tool = riscv_compiler()
    command = [*tool.command, *options, *map(str, sources), *libraries, "-o", str(output)]
    _run(command, Path(command[0]).name)


def to_binary(elf: Path, output: Path) -> Path:
    """Write the bytes of a RISC-V program as they lie in memory, and give ``output``."""
    (gcc,) = riscv_compiler().command
    _run([f"{gcc.removesuffix('gcc')}objcopy", "-O", "binary", str(elf), str(output)], "objcopy")
    return output


def _run(command: list[str], name: str) -> None:
    """Run a compiler; UserError with its first error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.splitlines()
        errors = [each for each in lines if " error: " in each.lower() or "undefined ref" in each]
        raise UserError(f"{name} failed: {(errors or [f'exit status {done.returncode}'])[0]}")
