"""README.md is short, and leads to every page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short():
    assert len(README.splitlines()) <= 170


def test_it_leads_to_every_page():
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", README))
    assert linked == {f"docs/{file.name}" for file in ROOT.glob("docs/*.md")}


def test_it_has_one_picture_and_the_table_of_results():
    assert README.count("![") == 1
    assert re.findall(r"<!-- table: (\w+) -->", README) == ["results"]
