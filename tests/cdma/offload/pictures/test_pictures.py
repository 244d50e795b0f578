"""Pictures of the verbs: what they show, and when they are refused."""

from functools import partial
from types import SimpleNamespace

import pytest

from cdma.cli.main import main
from cdma.errors import UserError
from cdma.offload.answers import advise, points, tornado
from cdma.offload.pictures import canvas, schemes, sweeps
from cdma.offload.pictures.schemes import front, steps
from cdma.offload.schemes.registry import results

pytest.importorskip("matplotlib")
GIVEN = ("--ratio", "2.6")


def test_the_front_of_some_points():
    points = [(1, 9), (2, 3), (2, 2), (3, 5), (4, 1)]
    assert front(points) == [0, 2, 4]


def test_a_drawing_with_nothing_to_show_leaves_no_file(tmp_path):
    drawings = {"a": lambda figure: False, "b": lambda figure: None}
    found = canvas.draw(tmp_path / "new", drawings, "a test")
    assert list(found) == ["b"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["offload_b.svg"]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("run", "nin", *GIVEN), {"steps", "pareto"}),
        (("sweep", "nin", *GIVEN, "--links", "4,16", "--scheme", "vdnn-all", "--scheme",
          "cdma-zv"), {"sweep"}),
        (("sweep", "nin", "--computes", "1,4", "--ratios", "2,4"), {"sweep"}),
        (("advise", "nin", *GIVEN, "--link", "55"), {"advice"}),
    ],
)  # fmt: skip
def test_figures_of_verbs(command, names, tmp_path, capsys):
    kept = []
    for _ in range(2):  # the same results give the same bytes
        assert main(["offload", *command, "--figures", str(tmp_path / "figures")]) == 0
        shown = capsys.readouterr().err
        kept.append({path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()})
        assert all(name in shown for name in kept[-1])
    assert set(kept[0]) == {f"offload_{name}.svg" for name in names}
    assert kept[0] == kept[1]
    assert all(b"<path" in data for data in kept[0].values())


@pytest.mark.parametrize("drawing", [schemes.steps, schemes.pareto, schemes.timeline])
def test_the_name_of_a_network_is_plain_text(drawing, setup_of, tmp_path):
    every = list(results(setup_of("nin"), ["oracle", "vdnn-all"]))
    drawings = {"name": partial(drawing, results=every, label="n$\\bad$")}
    found = canvas.draw(tmp_path, drawings, "a test")
    assert "(n$\\bad$)" in found["name"].read_text()


def test_a_bar_that_the_axis_cuts_has_its_value():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    seconds = {"short": 0.2, "middle": 0.3, "long": 2.0}
    every = [
        SimpleNamespace(
            scheme=SimpleNamespace(title=title, kind="published"),
            step=SimpleNamespace(seconds=value, events=[]),
        )
        for title, value in seconds.items()
    ]
    steps(figure, every, "a network")
    (axes,) = figure.axes
    assert axes.get_xlim() == (0, pytest.approx(600))
    (text,) = axes.texts
    assert text.get_text().startswith("2,000 ms")
    assert text.get_position()[1] == 2


def test_figure_of_the_tuner(tmp_path, capsys):
    import numpy as np

    pytest.importorskip("sklearn")
    np.save(tmp_path / "a.npy", np.eye(64, dtype=np.float32))
    command = ["offload", "tune", str(tmp_path / "a.npy"), "--trials", "4"]
    assert main([*command, "--figures", str(tmp_path)]) == 0
    text = (tmp_path / "offload_posterior.svg").read_text()
    assert "words of a chunk" in text


def test_a_sweep_over_three_axes_has_no_figure(refuse, tmp_path, monkeypatch):
    monkeypatch.setattr(points, "over", None)  # refused before the work
    axes = ("--links", "4,8", "--ratios", "2,3", "--computes", "1,2", "--scheme", "cdma-zv")
    line = refuse("offload", "sweep", "nin", *axes, "--figures", tmp_path)
    assert "a figure needs one or two axes with several values, not 3" in line
    with pytest.raises(UserError, match="not 0"):
        sweeps.sweep(None, [], {"link": [1]})


def test_the_knee(report):
    """At the knee of vDNN the copies of a step take as long as its compute."""
    rows = report("offload", "run", "vgg-d", *GIVEN, "--scheme", "vdnn-all")["rows"]
    found = report("offload", "run", "vgg-d", *GIVEN, "--scheme", "oracle")["rows"]
    copies = 2 * rows[0]["link_mib"] * 2**20 / (1e9 * sweeps.knee(rows[0]))
    assert 1e3 * copies == pytest.approx(found[0]["step_ms"])


def test_the_tornado(setup_of):
    setup = setup_of("googlenet", link=55.0, dram=3350.0, compute=2.0)
    rows = tornado.rows(setup)
    assert {row["assumption"] for row in rows} == set(tornado.CHANGES)
    swings = [abs(row["high"] - row["low"]) for row in rows]
    assert swings == sorted(swings, reverse=True)
    found = {row["assumption"]: row for row in rows}
    assert found["compute speed"]["high"] >= found["compute speed"]["low"]
    base = advise.answer(setup)
    assert base.pays == (base.over_best >= tornado.THRESHOLD)
    for row in rows:
        sides = {row[key] >= tornado.THRESHOLD for key in ("low", "high")}
        assert row["flips"] == (sides != {base.pays})


def test_scaled_ratios(setup_of):
    setup = setup_of("alexnet")
    double = tornado.CHANGES["compression ratio"](setup, 2.0)
    for before, after in zip(setup.coded(), double.coded(), strict=True):
        wanted = before.link / 2 if before.link < before.tensor.bytes else before.link
        assert after.link == pytest.approx(wanted)
