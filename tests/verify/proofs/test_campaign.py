"""Proofs are listed, exported and run. An independent checker agrees with the prover."""

import pytest

from cdma.verify.proofs import agreement, campaign
from cdma.verify.proofs.registry import chosen


def test_sizes_that_take_long_are_left_out():
    proofs = chosen(["zvc/compactor"])
    assert [size for *_, size in campaign.sizes(proofs, is_quick=True)] == [
        "2x32",
        "2x32, combinational end",
    ]
    assert len(list(campaign.sizes(proofs, is_quick=False))) == 6


def test_files_of_a_proof(tmp_path):
    rows = campaign.exported(chosen(["RowBuffer"]), tmp_path / "out")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {row["file"].rpartition("/")[2] for row in rows}
    assert {"lib_row_buffer-8_bits-depth_5.il", "lib_row_buffer-8_bits-depth_5.sby"} <= files
    text = (tmp_path / "out" / "lib_row_buffer-8_bits-depth_5.sby").read_text()
    assert "prove: mode prove\nprove: depth 7\n" in text
    assert "cover: depth 41\n" in text


def test_own_engine():
    rows = list(campaign.proven(chosen(["registered"]), "own", 1))
    assert [(row["proof"], row["outcome"]) for row in rows] == [("lib/registered", "proven")]


def test_another_checker_agrees():
    pytest.importorskip("z3")
    row = next(campaign.proven(chosen(["zvc/mask_generator"]), "sby", 300))
    assert row == {"proof": "zvc/mask_generator", "size": "8x32", "outcome": agreement.AGREES}


@pytest.mark.slow
def test_an_induction_by_a_rule_of_the_prover_holds_for_some_cycles():
    pytest.importorskip("z3")
    row = next(campaign.proven(chosen(["DelayLine"]), "sby", 300))
    assert row["outcome"] == agreement.BOUNDED
