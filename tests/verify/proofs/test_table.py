"""The table of proofs is that of the tests that are here."""

import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest
from amaranth.lib import wiring

from cdma import hdl
from cdma.tables import format_table

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs"


@pytest.fixture(scope="module")
def records():
    """What ``make formal`` has written."""
    return json.loads((DOCS / "measurements" / "formal.json").read_text())


@pytest.fixture(scope="module")
def proofs(row_of, proofs_of):
    """Row of each proof, by its marks; a refutation has none."""
    rows = {}
    for file in sorted(HERE.glob("test_*.py")):
        for name, function in vars(proofs_of(file.stem)).items():
            marks = getattr(function, "pytestmark", ()) if name.startswith("test_") else ()
            if "proof" in {mark.name for mark in marks} and not name.endswith("_refuted"):
                row = row_of(function)
                rows[row["test"]] = row
    return rows


def test_every_proof_has_its_row_and_no_row_is_left_over(proofs, records):
    kept = [{name: row[name] for name in row if name != "seconds"} for row in records]
    assert kept == [proofs[test] for test in sorted(proofs)], "run make formal"


def test_every_component_has_a_proof(proofs):
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(hdl.__path__, f"{hdl.__name__}.")
    ]
    components = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, wiring.Component)
        and value.__module__ == module.__name__
    }
    proven = {name for row in proofs.values() for name in row["component"].split(", ")}
    assert {"Compressor", "Queue"} <= components <= proven


def test_the_document_has_the_rows_of_the_records(records):
    text = (DOCS / "verification.md").read_text()
    (table,) = re.findall("<!-- table: proofs -->(.*?)<!-- end -->", text, re.DOTALL)
    columns = ("property", "component", "width", "mode", "depth", "seconds")
    assert table.strip() == format_table(records, columns, "markdown"), "run python docs/draw"


def test_every_file_of_proofs_refutes_something_broken():
    for file in HERE.glob("test_*.py"):
        text = file.read_text()
        if "pytest.mark.proof(" in text and file != Path(__file__):
            assert "formal.refutes(" in text, f"{file.name} refutes nothing"
