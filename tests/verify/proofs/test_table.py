"""The recorded table of proofs agrees with the registry."""

import json
import re
from pathlib import Path

import pytest

from cdma.tables import format_table
from cdma.verify.proofs import agreement
from cdma.verify.proofs.registry import registry
from cdma.verify.proofs.table import COLUMNS, merged, row_of, with_engines

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def records():
    """The rows that ``make formal`` wrote."""
    return json.loads((DOCS / "measurements" / "formal.json").read_text())


def test_every_proof_has_its_row_and_no_row_is_left_over(records):
    kept = [{name: row[name] for name in row if name != "seconds"} for row in records]
    assert kept == [row_of(name, proof) for name, proof in registry().items()], "run make formal"


def test_the_document_has_the_rows_of_the_records(records):
    text = (DOCS / "verification.md").read_text()
    (table,) = re.findall("<!-- table: proofs -->(.*?)<!-- end -->", text, re.DOTALL)
    checked = json.loads((DOCS / "measurements" / "formal_sby.json").read_text())
    rows = with_engines(records, checked)
    assert table.strip() == format_table(rows, COLUMNS, "markdown"), "run python docs/draw"


def test_no_other_checker_differs():
    checked = json.loads((DOCS / "measurements" / "formal_sby.json").read_text())
    assert {(row["proof"], row["size"]) for row in checked} <= {
        (name, size) for name, proof in registry().items() for size in proof.sizes
    }
    outcomes = [row["outcome"] for row in checked]
    assert outcomes.count(agreement.AGREES) > 20
    assert agreement.DIFFERS not in outcomes


def test_engines_of_a_proof():
    row = {"proof": "a/b", "sizes": "1; 2; 3", "mode": "pdr", "depth": 2}
    checked = [
        {"proof": name, "size": size, "outcome": outcome}
        for name, size, outcome in (
            ("a/b", "1", "agrees"),
            ("a/b", "2", "bounded"),
            ("a/b", "3", "open"),
            ("a/c", "1", "agrees"),
        )
    ]
    (found,) = with_engines([row], checked)
    assert (found["engine"], found["z3"]) == ("ABC", "1 of 3 sizes; 1 for 5 cycles")
    assert with_engines([row], [])[0]["z3"] == "-"


def test_seconds_change_only_by_much():
    def rows(**seconds):
        return [{"proof": name, "seconds": each} for name, each in seconds.items()]

    assert merged(rows(b=7.4, a=0.2), []) == rows(a=1, b=7)
    assert merged(rows(a=14.0, b=6.0), rows(a=10, b=13)) == rows(a=10, b=6)


def test_proofs_that_were_not_run_keep_their_rows():
    row = {"proof": "b", "seconds": 3}
    assert merged([{"proof": "a", "seconds": 1.2}], [row]) == [{"proof": "a", "seconds": 1}, row]


def test_the_document_names_every_proof():
    text = (DOCS / "verification.md").read_text()
    named = set(re.findall(r"`((?:axi|engine|lib|zvc|zvcplus)/\w+)`", text))
    assert named == set(registry()), "each proof belongs to a promise"
