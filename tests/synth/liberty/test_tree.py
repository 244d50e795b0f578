"""Groups of a Liberty file."""

import pytest

from cdma.errors import UserError
from cdma.synth.liberty.tree import parse


def test_groups_within_groups():
    group = parse('a("x", y) { one : 1.5; list("1, 2", "3"); b() { } b(c) { two : "t u"; } }')
    assert (group.kind, group.arguments) == ("a", ["x", "y"])
    assert group.attributes == {"one": "1.5"}
    assert group.values == {"list": ["1, 2", "3"]}
    assert [each.arguments for each in group.all("b")] == [[], ["c"]]
    assert group.all("b")[1].attributes == {"two": "t u"}


def test_comments_are_left_out():
    group = parse('/* a { */ a() { /* one : 1; */ two : 2; /* "quoted" */ }')
    assert (group.kind, group.attributes) == ("a", {"two": "2"})


@pytest.mark.parametrize("text", ["a() { b : 1;", "", "a : 1;", "}"])
def test_a_group_that_is_not_closed(text):
    with pytest.raises(UserError, match=r"^the file is cut short .its last group is not closed.$"):
        parse(text)
