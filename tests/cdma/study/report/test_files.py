"""Files of an analysis."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.study import run
from cdma.study.analysis import plan
from cdma.study.report.files import analyze_into


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").touch()
    monkeypatch.setattr(run, "analyze_all", lambda *_: pytest.fail("it was analyzed"))
    with pytest.raises(UserError, match=r"file: is a file, expected a folder"):
        analyze_into([], {}, figures=tmp_path / "file")
    with pytest.raises(UserError, match=r"the folder .* does not exist"):
        analyze_into([], {}, csv=tmp_path / "none" / "out.csv")


def test_failures_are_reported_and_the_rest_is_written(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(9, dtype="f4"))
    np.save(tmp_path / "b.npy", np.array(["text"]))
    failures = {}
    tasks = plan([str(tmp_path)], algorithms=("zvc32",))
    (record,) = analyze_into(tasks, failures, csv=tmp_path / "out.csv")
    assert record["tensor"] == f"{tmp_path}/a.npy"
    assert list(failures) == [f"{tmp_path}/b.npy"]
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[1].startswith(f"{tmp_path}/a.npy,")
    assert len(lines) == 2
