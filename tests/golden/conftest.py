"""What the tests of the golden model share: the reference, and the sample tensors."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest


def _load(name: str):
    """A module of this folder, found by its name from now on."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reference():
    """The formats, written down a second time."""
    return _load("reference")


@pytest.fixture(scope="session")
def agreement(reference):
    """Checks of the golden decoders against the reference, which they import."""
    return _load("agreement")


@pytest.fixture(scope="session")
def reference_encode(reference):
    return reference.encode


@pytest.fixture(scope="session")
def reference_decode(reference):
    return reference.decode


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of sample tensors with their manifest."""
    folder = os.environ.get("CDMA_DATA")
    if not folder:
        pytest.skip("CDMA_DATA is not set to the folder of the sample tensors")
    return Path(folder)


@pytest.fixture(scope="session")
def manifest(data_folder) -> list[dict]:
    """The entries of the manifest, one a tensor."""
    tensors = json.loads((data_folder / "manifest.json").read_text())["tensors"]
    assert tensors, "the manifest lists no tensor"
    return tensors
