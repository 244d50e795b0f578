"""The groups of a Liberty file.

Liberty is a tree of groups ``name(arguments) { ... }`` with attributes ``name : value;`` and
``name(values);`` (Liberty Reference Manual, 2017.06). A row of a table is one quoted value, so the
whole tree of a library of megabytes takes half a second.
"""

import re
from dataclasses import dataclass, field

from cdma.errors import UserError

_TOKEN = re.compile(r'/\*.*?\*/|"([^"]*)"|([^\s(){};:,"\\]+)|([(){};:,])', re.DOTALL)


@dataclass
class Group:
    """A group of a Liberty file."""

    kind: str
    arguments: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def all(self, kind: str) -> list["Group"]:
        """The groups of a kind directly below."""
        return [group for group in self.groups if group.kind == kind]


def parse(text: str) -> Group:
    """Tree of the first group in the text.

    Raises
    ------
    UserError
        When the group is not closed.
    """
    tokens = (match.groups() for match in _TOKEN.finditer(text))
    words: list[str] = []  # words of the statement so far, with colons and parentheses
    stack: list[Group] = []
    for quoted, bare, mark in tokens:
        if quoted is bare is mark is None:
            continue  # a comment
        if mark is None or mark in ("(", ":"):
            words.append(quoted if quoted is not None else bare or mark)
        elif mark == "{":
            stack.append(Group(words[0] if words else "", words[2:]))
            words = []
        elif not stack and mark in (";", "}"):
            words = []
        elif mark == ";":
            _attribute(stack[-1], words)
            words = []
        elif mark == "}":
            _attribute(stack[-1], words)
            words = []
            group = stack.pop()
            if not stack:
                return group
            stack[-1].groups.append(group)
    raise UserError("the file is cut short (its last group is not closed)")


def _attribute(group: Group, words: list[str]) -> None:
    if len(words) > 2 and words[1] == ":":
        group.attributes[words[0]] = " ".join(words[2:])
    elif len(words) > 2 and words[1] == "(":
        group.values[words[0]] = words[2:]
