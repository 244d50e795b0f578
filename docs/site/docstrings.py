"""Docstrings of this project, as mkdocstrings reads them: Markdown in place of Sphinx' roles."""

import re

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([\w.]*?)([\w]+)`")
ENTRY = re.compile(r"^(\S.*?) : (.*)$")


class Docstrings(griffe.Extension):
    """Rewrite roles, and the section ``Members`` of hardware into a list."""

    def on_instance(self, *, obj, **kwargs) -> None:
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """A docstring with code in place of roles and a list in place of ``Members``."""
    text = ROLE.sub(r"`\2`", text)
    head, rule, tail = text.partition("\nMembers\n-------\n")
    if not rule:
        return text
    members, blank, rest = tail.partition("\n\n")
    lines = []
    for line in members.splitlines():
        entry = ENTRY.match(line)
        if entry:
            names = ", ".join(f"`{name.strip()}`" for name in entry[1].split(","))
            lines.append(f"- {names}: {entry[2]}")
        else:
            lines.append(f"    {line.strip()}")
    listed = "\n".join(["**Members**", "", *lines])
    # Free text has to come before the sections, which would swallow it.
    summary, gap, sections = head.partition("\nParameters\n----------\n")
    return f"{summary.rstrip()}\n\n{listed}\n\n{gap.lstrip()}{sections}{blank}{rest}".rstrip()
