"""A verb parses and prints: what it computes is in the layers below."""

from pathlib import Path

import pytest

import cdma.cli

FOLDER = Path(cdma.cli.__file__).parent
#: Lines of a verb's module at most.
MOST = 80
#: Modules that are still longer, and how long. They may only become shorter.
LONGER = {"engine/runs.py": 137}
#: The command itself is no verb.
COMMAND = "main.py"
VERBS = sorted(
    name
    for file in FOLDER.rglob("*.py")
    if (name := file.relative_to(FOLDER).as_posix()) != COMMAND
)


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_short(name):
    lines = len((FOLDER / name).read_text().splitlines())
    assert lines <= LONGER.get(name, MOST)
    assert name not in LONGER or lines > MOST, f"{name} is short now: take it off the list"


def test_the_list_names_verbs():
    assert set(LONGER) <= set(VERBS)
