"""The hardware needs Amaranth, the standard library and the format, nothing else."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from cdma import hdl

SOURCES = sorted(Path(hdl.__path__[0]).glob("*.py"))


def imported(source: Path) -> set[str]:
    """Full names of the modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source.name}: relative import"
            assert "*" not in {alias.name for alias in node.names}, f"{source.name}: import *"
            assert node.module != "__future__", f"{source.name}: breaks Components"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = node.module.startswith("cdma") and importlib.util.find_spec(node.module)
                is_package = is_module and is_module.submodule_search_locations
                names.add(inner if is_package else node.module)
    return names


def test_sources_import_amaranth_and_the_format_only():
    assert len(SOURCES) > 10
    names = set().union(*map(imported, SOURCES))
    ours = {name for name in names if name.split(".")[0] == "cdma"}
    assert {name for name in ours if not name.startswith("cdma.hdl.")} == {"cdma.golden.format"}
    roots = {name.split(".")[0] for name in names}
    assert roots - set(sys.stdlib_module_names) == {"amaranth", "cdma"}


@pytest.mark.parametrize("package", ["sim", "synth", "cli"])
def test_loads_nothing_of_what_is_built_on_it(package):
    modules = [f"cdma.hdl.{source.stem}" for source in SOURCES if source.stem != "__init__"]
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert set(modules) <= set(loaded)
    assert not [name for name in loaded if name.startswith(f"cdma.{package}")]
