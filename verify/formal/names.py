"""Names for all signals of a component, so that proofs can probe and force them."""

import ast
import sys
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from amaranth import tracer
from amaranth.hdl import Elaboratable, Fragment, Module


def elaborated(component: Elaboratable, platform) -> Module:
    """Elaborate a component so that its signals have the names of their variables.

    Of several signals in one assignment, ``a, b = Signal(), Signal()``, Amaranth names only the
    last: the others are ``$signal``. Here the others are named, too. Subcomponents are not changed.
    """
    component._MustUse__used = True
    with naming():
        return component.elaborate(platform)


@contextmanager
def naming():
    """Name all signals in one assignment, see :func:`elaborated`."""
    plain = tracer.get_var_name

    def name(depth=2, default=None):
        found = plain(depth + 1, default="$signal")
        return found if found != "$signal" else _name(sys._getframe(depth)) or default

    with mock.patch.object(tracer, "get_var_name", name):
        yield


def all_named(component: Elaboratable, platform) -> Fragment:
    """Elaborate a component with all of its subcomponents, so that all signals have their names."""
    component._MustUse__used = True
    return elaborated(
        SimpleNamespace(elaborate=lambda platform: Fragment.get(component, platform)), platform
    )


def _name(frame):
    """Variable to which the call that a frame is at is assigned, or ``None``."""
    position = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    line, _, column, _ = position
    return _assigned(frame.f_code.co_filename).get((line, column))


@cache
def _assigned(file):
    """Variable by line and column of the expression, in assignments of several variables."""
    names = {}
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if not isinstance(node, ast.Assign):
            continue
        targets = node.targets[0]
        if isinstance(targets, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for target, value in zip(targets.elts, node.value.elts, strict=True):
                if isinstance(target, ast.Name):
                    names[value.lineno, value.col_offset] = target.id
    return names
