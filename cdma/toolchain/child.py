"""Runs cocotb's runner in a process of its own.

``python -m cdma.toolchain.child build|test SPEC.json``

A process, because the runner changes and reads the environment, and because a run that takes too
long can then be ended with all that it started.
"""

import json
import sys
from pathlib import Path

from cocotb_tools.runner import get_runner


def main(verb: str, spec_file: str) -> None:
    """Call the runner's method ``verb`` with the arguments in ``spec_file``."""
    spec = json.loads(Path(spec_file).read_text())
    getattr(get_runner(spec.pop("simulator")), verb)(**spec)


if __name__ == "__main__":
    main(*sys.argv[1:])
