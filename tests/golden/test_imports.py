"""The golden model needs NumPy and the standard library, nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

from cdma import golden

#: bfloat16 arrays are given back as such where this package is installed.
OPTIONAL = {"ml_dtypes"}
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


def test_sources_import_numpy_and_the_standard_library():
    sources = list(Path(golden.__file__).parent.glob("*.py"))
    assert len(sources) > 5
    roots, cdma_modules = set(), set()
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{source.name}: relative import"
                names = [node.module]
            else:
                continue
            roots |= {name.split(".")[0] for name in names}
            cdma_modules |= {name for name in names if name.startswith("cdma")}
    assert roots - set(sys.stdlib_module_names) - OPTIONAL == {"numpy", "cdma"}
    assert all(name.startswith("cdma.golden") for name in cdma_modules)


def test_runs_without_other_packages():
    forbidden = ("ml_dtypes", "amaranth", "scipy", "matplotlib")
    program = PROGRAM.format(forbidden=forbidden)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert "cdma.golden.codec" in loaded
    assert all(name == "cdma" or name.startswith("cdma.golden") for name in loaded)
