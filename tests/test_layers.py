"""Who may import whom: the layers of the package, read from the sources' imports."""

import ast
import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Layers from the bottom to the top: what each may import of this package, beside itself.
BASE = {"engine_codes", "engine_config", "engine_limits", "errors", "files", "format"}
BASE |= {"integers", "labels", "progress", "signals", "tables", "zvcplus"}
LAYERS = {
    **dict.fromkeys(sorted(BASE), BASE),
    "toolchain": BASE,
    "sweep": BASE,
    "golden": BASE,
    "hdl": {"engine_codes", "engine_config", "engine_limits", "format", "integers", "zvcplus"},
    "tensors": BASE | {"golden"},
    "torch": BASE | {"golden"},
    "designs": BASE | {"toolchain", "hdl"},
    "generate": BASE | {"hdl"},
    "sim": BASE | {"toolchain", "golden", "hdl", "designs"},
    "verify": BASE | {"toolchain", "sweep", "golden", "hdl", "designs", "sim"},
    "synth": BASE | {"toolchain", "sweep", "golden", "hdl", "designs"},
    "driver": BASE | {"golden", "hdl"},
    "study": BASE | {"toolchain", "sweep", "golden", "hdl", "sim", "tensors"},
    "offload": BASE | {"sweep", "golden", "tensors", "study"},
    "cli": {*BASE, "toolchain", "sweep", "golden", "hdl", "tensors", "sim", "verify", "synth"}
    | {"driver", "generate", "study", "offload"},
}
#: What a layer may import from outside the standard library; all others what an extra installs.
OUTSIDE = {
    "golden": {"numpy", "ml_dtypes"},  # ml_dtypes where it is installed
    "hdl": {"amaranth"},
}
#: One external tool is called in one place.
PLACES = {
    "subprocess": {"cdma/toolchain"},
    "pysat": {"verify/formal", "verify/mutation"},
    "distributed": {"cdma/sweep"},
}


def folders() -> dict[str, Path]:
    """Folder of each mapped package, by its name, ``cdma`` last."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    mapped = project["tool"]["setuptools"]["package-dir"]
    return {name: ROOT / folder for name, folder in sorted(mapped.items(), reverse=True)}


def sources() -> dict[str, Path]:
    """Every module of the package, by its full name."""
    found = {}
    for package, folder in folders().items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = file
    return found


def imported(file: Path) -> set[str]:
    """Full names of the modules that a file imports, anywhere in it, optional ones too."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            assert "*" not in {alias.name for alias in node.names}, f"{file}: import *"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
            names.add(node.args[0].value if isinstance(node.args[0], ast.Constant) else "")
    return names


SOURCES = sources()


def layer_of(name: str) -> str:
    """``cdma.hdl.zvc.beat`` is of the layer ``hdl``."""
    return name.split(".")[1] if "." in name else name


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_is_below_it(layer):
    modules = {name: file for name, file in SOURCES.items() if layer_of(name) == layer}
    assert modules
    for name, file in modules.items():
        ours = {each for each in imported(file) if each.startswith("cdma.")} - {"cdma.__version__"}
        wrong = {each for each in ours if layer_of(each) not in LAYERS[layer] | {layer}}
        assert not wrong, f"{name} imports {', '.join(sorted(wrong))}"


def test_every_module_has_a_layer():
    others = {name for name in SOURCES if layer_of(name) not in LAYERS}
    assert others == {"cdma", "cdma.__main__"}


def test_layers_are_listed_from_the_bottom_up():
    seen = set(BASE)
    for layer, below in LAYERS.items():
        assert below <= seen, layer
        seen.add(layer)


@pytest.mark.parametrize("layer", sorted(OUTSIDE))
def test_a_lower_layer_needs_few_packages(layer):
    files = [file for name, file in SOURCES.items() if layer_of(name) == layer]
    roots = {name.split(".")[0] for file in files for name in imported(file)}
    assert roots - set(sys.stdlib_module_names) - {"cdma"} == OUTSIDE[layer]


@pytest.mark.parametrize("module", PLACES)
def test_a_tool_is_called_in_one_place(module):
    users = {
        str(file.relative_to(ROOT))
        for file in SOURCES.values()
        if any(name.split(".")[0] == module for name in imported(file))
    }
    assert users
    assert {file for file in users if not file.startswith(tuple(PLACES[module]))} == set()


def test_components_are_not_broken_by_postponed_annotations():
    for name, file in SOURCES.items():
        if layer_of(name) == "hdl":
            assert not [each for each in imported(file) if each.startswith("__future__")], name


def test_every_folder_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(project["tool"]["setuptools"]["packages"])
    folders = {name for name, file in SOURCES.items() if file.name == "__init__.py"}
    assert listed == folders | {"cdma.measurements"}  # data only
    for name in folders:
        assert importlib.util.find_spec(name), name


def test_a_folder_holds_a_dozen_modules_or_two():
    for folder in {file.parent for file in SOURCES.values()}:
        assert len(list(folder.glob("*.py"))) <= 17, f"{folder}: make rooms"
