"""What the tests of signals run; a module of its own, since processes must import it."""

import sys
import time
from pathlib import Path

from cdma.files import replacing
from cdma.toolchain.tool import Tool, execute

#: A program that starts a program, and then writes a file.
PROGRAM = """
import pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


def use_a_tool(folder):
    """Run a program that does not end, while a file is half written."""
    folder = Path(folder)
    with replacing(folder / "out") as temporary:
        temporary.write_text("half")
        tool = Tool("Sleeper", "1", (sys.executable, "-c", PROGRAM))
        execute(tool, [str(folder / "has-begun")], {"in": ""}, [], folder)


def compute(folder):
    """Compute without end, while a file is half written."""
    with replacing(Path(folder) / "out") as temporary:
        temporary.write_text("half")
        (Path(folder) / "has-begun").touch()
        while True:
            time.sleep(0.01)
