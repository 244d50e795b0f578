"""Boolean functions in Liberty's notation.

``'`` (after the operand) and ``!`` (before the operand) have the highest precedence, then ``^``,
then ``*``, ``&`` or a blank, then ``+`` or ``|`` (Liberty Reference Manual, 2017.06).
"""

import re
from collections.abc import Mapping

#: A name, a constant ``"0"`` or ``"1"``, or an operator of ``~ & | ^`` with its operands.
Tree = str | tuple

_TOKEN = re.compile(r"[\w\[\]]+|[!'()^*&+|]")


def parse(function: str) -> Tree:
    """Tree of a function.

    Raises
    ------
    ValueError
        When the text is no function.
    """
    tokens = [*_TOKEN.findall(function), ""]
    if _TOKEN.sub("", function).strip():
        raise ValueError(f"Function must be of names and operators, not {function!r}")
    position = 0

    def peek() -> str:
        return tokens[position]

    def take() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def factor() -> Tree:
        token = take()
        if token == "!":
            return ("~", factor())
        if token == "(":
            tree = either()
            if take() != ")":
                raise ValueError(f"Parenthesis must be closed in {function!r}")
        elif re.fullmatch(r"[\w\[\]]+", token):
            tree = token
        else:
            raise ValueError(f"Function must have an operand before {token!r}, not {function!r}")
        while peek() == "'":
            take()
            tree = ("~", tree)
        return tree

    def differ() -> Tree:
        tree = factor()
        while peek() == "^":
            take()
            tree = ("^", tree, factor())
        return tree

    def both() -> Tree:
        tree = differ()
        while peek() not in ("", ")", "+", "|"):
            if peek() in ("*", "&"):
                take()
            tree = ("&", tree, differ())
        return tree

    def either() -> Tree:
        tree = both()
        while peek() in ("+", "|"):
            take()
            tree = ("|", tree, both())
        return tree

    tree = either()
    if peek():
        raise ValueError(f"Function must end before {peek()!r}, not {function!r}")
    return tree


def names(tree: Tree) -> set[str]:
    """Names of the inputs of the function."""
    if isinstance(tree, str):
        return set() if tree in ("0", "1") else {tree}
    return set().union(*map(names, tree[1:]))


def evaluate(tree: Tree, values: Mapping[str, int]) -> int:
    """Value of the function, 0 or 1. KeyError when an input is not in ``values``."""
    if isinstance(tree, str):
        return int(tree) if tree in ("0", "1") else values[tree]
    operands = [evaluate(operand, values) for operand in tree[1:]]
    if tree[0] == "~":
        return 1 - operands[0]
    first, second = operands
    return {"&": first & second, "|": first | second, "^": first ^ second}[tree[0]]


def verilog(tree: Tree, nets: Mapping[str, str]) -> str:
    """The function as an expression in Verilog. ``nets`` replaces the names."""
    if isinstance(tree, str):
        return f"1'b{tree}" if tree in ("0", "1") else nets[tree]
    operands = [verilog(operand, nets) for operand in tree[1:]]
    # A blank separates operators, because Icarus Verilog does not accept `~~~`.
    return f"(~{operands[0]})" if tree[0] == "~" else f"({f' {tree[0]} '.join(operands)})"
