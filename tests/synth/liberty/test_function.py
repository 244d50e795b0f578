"""Liberty's boolean functions, read into trees."""

import itertools

import pytest

from cdma.synth.liberty import function


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!(A & B)", lambda a, b: 1 - (a & b)),
        ("(A B)'", lambda a, b: 1 - (a & b)),
        ("!A * !B", lambda a, b: (1 - a) & (1 - b)),
        ("A'+B", lambda a, b: (1 - a) | b),
        ("A ^ B & A", lambda a, b: (a ^ b) & a),
        ("A | B & !A", lambda a, b: a | b & (1 - a)),
        ("!A''", lambda a, b: 1 - a),
        ("1", lambda a, b: 1),
        ("A 0", lambda a, b: 0),
    ],
)
def test_value_and_verilog_agree(text, expected):
    tree = function.parse(text)
    for a, b in itertools.product((0, 1), repeat=2):
        assert function.evaluate(tree, {"A": a, "B": b}) == expected(a, b)
        # The operators are Python's too, once constants and names are numbers.
        nets = {"A": str(a), "B": str(b)}
        code = function.verilog(tree, nets).replace("1'b", "")
        assert eval(code) & 1 == expected(a, b)


def test_signs_are_apart():
    """Icarus Verilog takes no ``~~~``."""
    assert function.verilog(function.parse("!!!A"), {"A": "n1"}) == "(~(~(~n1)))"


def test_names():
    assert function.names(function.parse("(A1 & !B) | 1 ^ C[2]")) == {"A1", "B", "C[2]"}


@pytest.mark.parametrize("text", ["", "A &", "(A", "A)", "A ? B", "& A"])
def test_no_function(text):
    with pytest.raises(ValueError, match=r"^(Function|Parenthesis) must "):
        function.parse(text)
