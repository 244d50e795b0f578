"""The golden model runs with NumPy and the standard library, and loads nothing else of cdma."""

import subprocess
import sys

PROGRAM = """
import builtins, sys
real = builtins.__import__
def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    if name.split(".")[0] in {forbidden!r}:
        raise ImportError(name)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = guarded
import io
import numpy as np
from cdma.golden import compress, decompress, read_container, write_container, Format
array = np.arange(100, dtype=np.float32) % 3
assert (decompress(compress(array), 100, Format()) == array.view(np.uint32)).all()
file = io.BytesIO()
write_container(file, array)
assert (read_container(file) == array).all()
print(*sorted(name for name in sys.modules if name.startswith("cdma")))
"""


def test_runs_without_other_packages():
    forbidden = ("ml_dtypes", "amaranth", "scipy", "matplotlib")
    program = PROGRAM.format(forbidden=forbidden)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert "cdma.golden.zvc.codec" in loaded
    others = {name for name in loaded if not name.startswith("cdma.golden")}
    assert others == {"cdma", "cdma.format", "cdma.integers", "cdma.zvcplus"}
