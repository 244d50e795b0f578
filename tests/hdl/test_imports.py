"""The hardware loads nothing of what is built on it."""

import pkgutil
import subprocess
import sys

import pytest

from cdma import hdl

MODULES = [module.name for module in pkgutil.walk_packages(hdl.__path__, "cdma.hdl.")]


@pytest.mark.parametrize("package", ["sim", "synth", "verify", "cli"])
def test_loads_nothing_of_what_is_built_on_it(package):
    program = f"import sys, {', '.join(MODULES)}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert len(MODULES) > 20
    assert set(MODULES) <= set(loaded)
    assert not [name for name in loaded if name.startswith(f"cdma.{package}")]
