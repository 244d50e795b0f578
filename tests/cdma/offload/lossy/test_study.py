"""The study of lossy codecs: it adds up, and the kept one is current."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.offload import records
from cdma.offload.lossy import study
from cdma.offload.validate import comet
from cdma.offload.validate.rows import NOT_GIVEN, OPEN

PAGE = Path(__file__).parents[4] / "docs" / "offload.md"


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    entries = []
    for name in ("one", "two"):
        array = np.maximum(random.standard_normal((1, 4, 16, 16)), 0).astype(np.float32)
        np.save(tmp_path / f"{name}.npy", array)
        entries.append(
            {"file": f"{name}.npy", "network": "net", "layer": name, "kind": "conv+relu"}
        )
    (tmp_path / "manifest.json").write_text(json.dumps({"tensors": entries}))
    return tmp_path


def test_tensors_of_a_network_add_up(folder):
    (row,) = study.measure([str(folder)], ["abs=0.05"])
    parts = [
        study.measure([str(folder / f"{name}.npy")], ["abs=0.05"])[0] for name in ("one", "two")
    ]
    assert (row["network"], row["bound"], row["tensors"]) == ("net", "abs=0.05", 2)
    for key in ("raw_bytes", "entropy_bytes"):
        assert row[key] == sum(part[key] for part in parts)
    for key in ("zvc", "lossy-zvc"):
        assert row[key]["bytes"] == sum(part[key]["bytes"] for part in parts)
        assert row[key]["zeros_kept"] == 1
    assert row["zvc"]["largest_error"] == 0
    assert 0.9 < row["lossy-zvc"]["largest_error"] <= 1
    assert row["entropy_bytes"] < row["lossy-zvc"]["bytes"] < row["zvc"]["bytes"]
    study.save([row], folder / "a.json")
    assert study.read(folder / "a.json") == [row]


def test_refused(folder):
    with pytest.raises(UserError, match="Error bound must be"):
        study.measure([str(folder)], ["much"])
    with pytest.raises(UserError, match="cannot read these measurements"):
        study.read(folder / "one.npy")


def test_the_page_shows_the_kept_study():
    rows, text = study.read(), PAGE.read_text()
    assert {row["bound"] for row in rows} == set(study.BOUNDS)
    assert len({row["network"] for row in rows}) >= 6
    assert study.table(rows, "markdown") in text
    assert study.guarantees(rows, "markdown") in text


@pytest.mark.skipif(not os.environ.get("CDMA_DATA"), reason="CDMA_DATA is not set")
def test_the_kept_study_is_current(monkeypatch):
    network, bound = "squeezenet1.0dc", "rel=0.03"
    chosen = study.last_stage([os.environ["CDMA_DATA"]])
    mine = [item for item in chosen if item[1].network == network]
    monkeypatch.setattr(study, "last_stage", lambda arguments: mine)
    (row,) = study.measure([], [bound])
    kept = next(r for r in study.read() if (r["network"], r["bound"]) == (network, bound))
    for key in ("tensors", "raw_bytes", "entropy_bytes", "zvc", "lossy-zvc"):
        assert row[key] == kept[key], key


def test_the_row_of_comet(monkeypatch, tmp_path):
    (row,) = comet.rows()
    assert (row.published, row.verdict) == ("10 to 13x", OPEN)
    assert "entropy" in row.model
    monkeypatch.setattr(records, "LOSSY", tmp_path / "none.json")
    assert comet.rows()[0].verdict == NOT_GIVEN
