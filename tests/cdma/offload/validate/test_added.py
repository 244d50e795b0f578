"""Figures that a user adds to the validation."""

import re

import pytest

from cdma.errors import UserError
from cdma.offload.validate import added, report
from cdma.offload.validate.rows import HOLDS, MISSED, NOT_GIVEN

_HEADER = "claim,network,scheme,metric,figure,within,ratio,batch,source"


def _rows(folder, *lines, header=_HEADER, **options):
    file = folder / "own.csv"
    file.write_text("\n".join((header, *lines)) + "\n")
    return added.rows(file, **options)


def test_a_figure_is_judged(tmp_path, setup_of):
    from cdma.offload.schemes.registry import rows

    row = {row["scheme"]: row for row in rows(setup_of(batch=64, codec=None))}["cdma-zv"]
    near, far = 1.01 * row["step_ms"], 1.2 * row["step_ms"]
    lines = [f"mine,alexnet,cdma-zv,step_ms,{each},5,2.6,64,a bench" for each in (near, far)]
    first, second = _rows(tmp_path, *lines)
    assert (first.verdict, second.verdict) == (HOLDS, MISSED)
    assert first.model == f"{row['step_ms']:.4g}"
    assert first.reason == "added by the user: a bench"
    assert first.null.startswith("oracle: ")


@pytest.mark.parametrize(
    ("metric", "figure", "null"),
    [("link_mib", 349, "vdnn-all: 348.9"), ("over:oracle", 0.78, "as fast: 1")],
)
def test_metrics_and_their_null_models(tmp_path, metric, figure, null):
    (row,) = _rows(tmp_path, f"mine,alexnet,vdnn-all,{metric},{figure},5,2.6,,")
    assert row.verdict == HOLDS
    assert row.null.startswith(null)


def test_a_ratio_must_come_from_somewhere(tmp_path):
    (row,) = _rows(tmp_path, "mine,alexnet,cdma-zv,step_ms,80,5,,,")
    assert (row.verdict, row.reason) == (NOT_GIVEN, "give --densities, or a column ratio")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mine,lenet,cdma-zv,step_ms,80,5,2.6,,", "line 2: network must be one of"),
        ("mine,alexnet,x,step_ms,80,5,2.6,,", "line 2: scheme must be one of"),
        ("mine,alexnet,cdma-rl,step_ms,80,5,2.6,,", "line 2: cdma-rl needs tensors"),
        ("mine,alexnet,cdma-zv,ms,80,5,2.6,,", "line 2: metric must be one of step_ms"),
        ("mine,alexnet,cdma-zv,over:x,80,5,2.6,,", "line 2: scheme must be one of"),
        ("mine,alexnet,cdma-zv,step_ms,fast,5,2.6,,", "figure must be a number, not 'fast'"),
        ("mine,alexnet,cdma-zv,step_ms,80,0,2.6,,", "within must be above 0, not '0'"),
        ("mine,alexnet,cdma-zv,step_ms,80,5,2.6,1.5,", "batch must be a number, not '1.5'"),
        ("mine,alexnet,cdma-zv,step_ms,80", "as many cells as there are columns"),
    ],
)
def test_refused_lines(tmp_path, line, message):
    with pytest.raises(UserError, match=re.escape(message)):
        _rows(tmp_path, line)


def test_refused_files(tmp_path):
    with pytest.raises(UserError, match="cannot read these figures"):
        added.rows(tmp_path / "none.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(UserError, match="lacks the column claim"):
        added.rows(tmp_path / "empty.csv")
    with pytest.raises(UserError, match="lacks the column metric"):
        _rows(tmp_path, header="claim,network,scheme")
    with pytest.raises(UserError, match="column 'speed' is unknown, expected one of source, batch"):
        _rows(tmp_path, header=_HEADER + ",speed")


def test_a_file_of_a_spreadsheet(tmp_path):
    line = "mine,alexnet,vdnn-all,link_mib,349,5,2.6,,"
    (row,) = _rows(tmp_path, line, header="\ufeff" + _HEADER)
    assert row.claim == "mine"


def test_added_rows_come_first(tmp_path, monkeypatch):
    monkeypatch.delenv("CDMA_PUBLISHED", raising=False)
    _rows(tmp_path, "mine,alexnet,cdma-zv,step_ms,87,50,2.6,,")
    assert report.rows((), [str(tmp_path / "own.csv")])[0].claim == "mine"
