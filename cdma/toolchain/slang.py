"""The compiler slang: a strict reader of Verilog."""

import importlib.metadata
import sys

from cdma.errors import require
from cdma.toolchain.tool import Tool

# The command of slang, which the package lacks.
_COMMAND = """
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


def slang() -> Tool:
    """Give slang as a Python package. UserError when it is not installed."""
    require("pyslang", extra="lint", verb="cdma lint")
    return Tool("slang", importlib.metadata.version("pyslang"), (sys.executable, "-c", _COMMAND))
