"""A verb parses and prints: what it computes is in the layers below."""

from pathlib import Path

import pytest

import cdma.cli

FOLDER = Path(cdma.cli.__file__).parent
#: Lines of a verb's module at most.
MOST = 80
#: The command itself is no verb.
COMMAND = "main.py"
VERBS = sorted(
    name
    for file in FOLDER.rglob("*.py")
    if (name := file.relative_to(FOLDER).as_posix()) != COMMAND
)


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_short(name):
    assert len((FOLDER / name).read_text().splitlines()) <= MOST
