"""``pytest --passed=FILE``: a long run that was interrupted goes on where it was.

A ``conftest.py`` takes both hooks from here. The file has a digest of the source tree, then the
tests that have passed, a line each. A later run of the same tree leaves these out and adds its own;
in another tree it begins anew. Tests that failed, were skipped or were not reached are run again.
"""

import hashlib
import os
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "leave out tests that passed in earlier runs of this tree, and keep those of this run"
    parser.addoption("--passed", type=Path, metavar="FILE", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.passed:
        config.pluginmanager.register(Passed(config))


class Passed:
    """Plugin of a run with ``--passed``.

    Parameters
    ----------
    config : pytest.Config
        Of the run, or of a worker of it: workers know only what the run gives them at their start,
        as all must collect the same tests.

    Raises
    ------
    pytest.UsageError
        When the file cannot be read or is of another kind.
    """

    def __init__(self, config: pytest.Config):
        self.file = config.option.passed
        self.broken: set[str] = set()
        if hasattr(config, "workerinput"):
            self.before = set(config.workerinput["passed"])
            self.out = None
            return
        digest = _digest(config.rootpath)
        self.before = _read(self.file, digest)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.out = self.file.open("a" if self.before else "w", encoding="utf-8")
        if not self.before:
            print(digest, file=self.out, flush=True)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["passed"] = sorted(self.before)

    def pytest_report_header(self):
        return f"{self.file}: {len(self.before)} tests have passed in earlier runs"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        left = [item for item in items if item.nodeid not in self.before]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.before])
        items[:] = left

    def pytest_runtest_logreport(self, report):
        if self.out is None:
            return
        if not report.passed:
            self.broken.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self.broken:
            print(report.nodeid, file=self.out, flush=True)

    def pytest_unconfigure(self):
        if self.out is not None:
            self.out.close()


def _digest(root: Path) -> str:
    """Of the version of Python and all files of the tree but those that runs write."""
    total = hashlib.sha256(sys.version.encode())
    for folder, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not _is_made(name))
        for file in sorted(Path(folder, name) for name in files):
            content = hashlib.sha256(file.read_bytes()).digest()
            total.update(f"{file.relative_to(root)}\0".encode() + content)
    return f"tree {total.hexdigest()}"


def _is_made(folder: str) -> bool:
    made = ("build", "dist", "__pycache__")
    return folder.startswith(".") or folder.endswith(".egg-info") or folder in made


def _read(file: Path, digest: str) -> set[str]:
    """Tests that have passed in the tree of this digest."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--passed {file}: cannot read it ({error})") from None
    if lines and not lines[0].startswith("tree "):
        raise pytest.UsageError(f"--passed {file}: was not written by an earlier run")
    return set(lines[1:]) if lines[:1] == [digest] else set()
