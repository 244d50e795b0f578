"""The web site of the documents builds without a warning, with the Python API."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the site, built as ``make docs`` does."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr
    return folder


def test_every_page_is_there(site):
    pages = {file.stem for file in ROOT.glob("docs/*.md")} | {"index", "contributing", "changelog"}
    assert pages <= {file.stem for file in site.glob("*.html")}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("golden", ["cdma.golden.zvc.codec.compress", "cdma.format.Format"]),
        ("hdl", ["cdma.hdl.zvc.compressor.unit.Compressor", "cdma.hdl.zvc.config.Config"]),
        ("engine", ["cdma.golden.engine.offload", "cdma.driver.driver.Driver"]),
        ("sim", ["cdma.sim.simulate.cosim", "cdma.sim.compiled.model.RtlModel"]),
    ],
)
def test_api_is_described(site, page, names):
    text = (site / "api" / f"{page}.html").read_text(encoding="utf-8")
    for name in names:
        assert f'id="{name}"' in text
    assert ":class:" not in text
    assert "Members\n---" not in text


def test_links_between_files_become_links_between_pages(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="getting-started.html"' in text
    assert 'href="docs/' not in text
