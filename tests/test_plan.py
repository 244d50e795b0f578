"""``docs/verification.md`` names tests that exist, and at least one for each promise."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "verification.md").read_text()
#: Without its generated tables, which are of another shape.
PLAN = re.sub(r"<!-- table: .*?<!-- end -->", "", TEXT, flags=re.DOTALL)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PLAN.splitlines()
    if line.startswith("| ") and line != "| Promise | Tests |"
]
NAME = r"`(tests/[\w/]+\.py)::(test_\w+)`"


def test_plan_has_promises():
    assert len(ROWS) > 30
    assert all(len(row) == 2 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_promise_names_tests_that_exist(row):
    promise, tests = row
    assert re.fullmatch(rf"{NAME}(, {NAME})*", tests), f"{promise}: {tests}"
    for file, test in re.findall(NAME, tests):
        tree = ast.parse((ROOT / file).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert test in names, f"{file} has no {test}"


def test_every_test_of_the_units_is_in_the_plan():
    named = set(re.findall(NAME, PLAN))
    for name in ("units", "malformed", "roundtrip"):
        file = f"tests/sim/test_{name}.py"
        for node in ast.parse((ROOT / file).read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                is_slow = any("slow" in ast.unparse(mark) for mark in node.decorator_list)
                assert is_slow or (file, node.name) in named, f"{file}::{node.name}"
