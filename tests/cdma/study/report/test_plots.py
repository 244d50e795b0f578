"""Figures show what the records have."""

import sys

import pytest

from cdma.errors import MissingPackageError
from cdma.study.report import plots

pytest.importorskip("matplotlib")


@pytest.fixture
def figure():
    from matplotlib.figure import Figure

    return Figure()


def test_files(records, tmp_path):
    paths = plots.draw(records, tmp_path, "a_", kinds=("svg", "png"))
    names = [f"a_{name}" for name in ("ratio", "density-layers", "density-training")]
    assert [path.name for path in paths] == [
        f"{n}.{kind}" for n in names for kind in ("svg", "png")
    ]
    assert sorted(tmp_path.glob("a_*")) == sorted(paths)
    assert paths[0].read_text().startswith("<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_the_same_bytes_again(records, tmp_path):
    kept = {path: path.read_bytes() for path in plots.draw(records, tmp_path, kinds=("svg",))}
    plots.draw(records, tmp_path, kinds=("svg",))
    assert kept == {path: path.read_bytes() for path in kept}


def test_bars_are_the_ratios(records, figure):
    assert plots.draw_ratio(figure, records)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["NCHW", "NHWC", "CHWN"]
    from cdma.study.summary import totals

    (total,) = (t for t in totals(records) if t["layout"] == "NHWC")
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    assert heights == list(total["ratios"].values())


def test_several_formats_are_groups_of_their_own(records, figure):
    half = [{**record, "format": "fp16"} for record in records]
    plots.draw_ratio(figure, [*records, *half])
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["AlexNet-toy\nfloat32", "AlexNet-toy\nfp16"]


def test_tensors_without_layouts(records, figure):
    dense = [record for record in records if record["layout"] == "NC"]
    assert plots.draw_ratio(figure, dense)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["NC"]


def test_bars_are_the_densities_at_the_last_step(records, figure):
    assert plots.draw_density_by_layer(figure, records)
    heights = [bar.get_height() for bar in figure.axes[0].patches][:7]
    last = {r["layer"]: r["density"] for r in records if r["step"] == 20}
    names = ["relu0", "relu1", "pool0", "relu2", "relu3", "pool1", "fc"]
    assert heights == [last[name] for name in names]


def test_lines_are_the_densities_of_each_layer(records, figure):
    assert plots.draw_density_over_training(figure, records)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert len(lines) == 7
    densities = [r["density"] for r in records if r["layer"] == "relu2" and r["layout"] == "NCHW"]
    assert list(lines["relu2"].get_ydata()) == densities
    assert lines["pool0"].get_linestyle() == "--"


def test_nothing_to_draw(records, figure, tmp_path):
    single = [record for record in records if record["step"] == 20]
    assert not plots.draw_density_over_training(figure, single)
    assert [p.stem for p in plots.draw(single, tmp_path, kinds=("svg",))] == [
        "ratio",
        "density-layers",
    ]
    assert plots.draw([], tmp_path) == []


def test_without_matplotlib(records, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'cdma-engine\[study\]'$"):
        plots.draw(records, tmp_path)
