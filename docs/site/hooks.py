"""Hooks of MkDocs: files of the repository's top level as pages, and packages under their names."""

import posixpath
import re
import shutil
import tempfile
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
#: Files beside ``docs``, and the pages that they become.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
#: Packages of the folders at the top level.
PACKAGES = ("golden", "hdl", "sim", "verify", "synth")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


@event_priority(100)  # before mkdocstrings reads where the sources are
def on_config(config):
    """Copy the sources to where Python imports them from: pip maps the folders.

    Each build has a copy of its own, as two may run at the same time.
    """
    copy = tempfile.TemporaryDirectory(prefix="cdma-site-")
    config.extra["sources"] = copy  # as long as the build
    package = Path(copy.name) / "cdma"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "cdma", package, ignore=unwanted)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, package / name, ignore=unwanted)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [copy.name]
    return config


def on_files(files, config):
    """Add the pages that are beside ``docs``."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links between files of the repository into links between pages."""
    source = next((name for name, uri in PAGES.items() if uri == page.file.src_uri), None)
    source = source or f"docs/{page.file.src_uri}"

    def moved(match):
        picture, text, target, anchor = match.groups(default="")
        if re.match(r"[a-z]+:", target):
            return match[0]
        found = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        uri = PAGES.get(found, found.removeprefix("docs/") if found.startswith("docs/") else None)
        if uri is None:
            return f"`{text}`"  # a file that the site does not have: its name is enough
        start = posixpath.dirname(page.file.src_uri) or "."
        return f"{picture}[{text}]({posixpath.relpath(uri, start)}{anchor})"

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(moved, part) for part in parts)
