"""Explain, trace, sweep and advise."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.offload.answers import advice, advise, explain, points
from cdma.offload.answers.trace import trace
from cdma.offload.builder import Wishes
from cdma.offload.schemes.registry import SCHEMES, results


def test_exposed_times_are_the_whole_difference(setup_of):
    setup = setup_of("vgg-a", dram=1e6)
    for name in ("vdnn-all", "cdma-zv", "static"):
        rows = explain.rows(setup, name)
        exposed = sum(row["exposed_down_ms"] + row["exposed_up_ms"] for row in rows)
        step = 1e3 * SCHEMES[name].run(setup)[0].seconds
        assert 1e3 * setup.times.total + exposed == pytest.approx(step)


def test_limits(setup_of):
    limits = {row["tensor"]: row["limit"] for row in explain.rows(setup_of(), "vdnn-all")}
    assert limits["conv1"] == "link"
    assert limits["pool2"] == "hidden"
    slow = explain.rows(setup_of(codec=2.5), "cdma-zv")
    assert {row["limit"] for row in slow} <= {"codec", "hidden"}
    assert "dram" in {row["limit"] for row in explain.rows(setup_of(dram=5.0), "vdnn-all")}


def test_what_explain_refuses(setup_of):
    with pytest.raises(UserError, match="explain takes one of vdnn-all"):
        explain.rows(setup_of(), "async")
    with pytest.raises(UserError, match="cdma-rl needs tensors"):
        explain.rows(setup_of(), "cdma-rl")


def test_trace(setup_of):
    setup = setup_of()
    found = trace(list(results(setup, ["vdnn-all", "async"])))
    complete = [event for event in found["traceEvents"] if event["ph"] == "X"]
    assert {event["pid"] for event in complete} == {1, 2}
    end = max(event["ts"] + event["dur"] for event in complete if event["pid"] == 1)
    assert end == pytest.approx(1e6 * SCHEMES["vdnn-all"].run(setup)[0].seconds)
    assert {event["cat"] for event in complete} == {"compute", "down", "up"}


@pytest.mark.slow
def test_sweep():
    wishes = Wishes("alexnet", ratio=2.0, codec=200.0)
    rows = points.over(wishes, {"link": (8.0, 16.0), "ratio": (2.0, 4.0)}, ["cdma-zv"])
    assert [(row["link"], row["ratio"]) for row in rows] == [(8, 2), (8, 4), (16, 2), (16, 4)]
    assert rows[0]["step_ms"] > rows[1]["step_ms"] > rows[3]["step_ms"]


@pytest.mark.slow
def test_sweep_of_a_wrong_value():
    with pytest.raises(UserError, match="network must be one of"):
        points.over(Wishes("x", ratio=2.0), {"link": (8.0,)}, None)


def test_the_smallest_engine_that_fills_the_link(setup_of):
    setup = setup_of(ratio=2.6, dram=1e4)
    rows = advise.engines(setup)
    row, chosen = advise.choose(setup)
    assert row["link_use"] >= advise.LINK_USE
    smaller = [each for each in rows if each["area_mm2"] < row["area_mm2"]]
    assert all(each["link_use"] < advise.LINK_USE for each in smaller)
    assert chosen.codec.down >= row["raw_gb_per_s"] * 1e9
    wide = advise.choose(replace(setup, link=replace(setup.link, bandwidth=55e9)))[0]
    assert wide["area_mm2"] > row["area_mm2"]


def test_a_link_that_no_engine_fills(setup_of):
    setup = setup_of(link=2000.0, dram=1e5)
    row, chosen = advise.choose(setup)
    assert row["link_use"] == max(each["link_use"] for each in advise.engines(setup))
    assert row["link_use"] < advise.LINK_USE
    assert "no measured engine uses 95%" in advice.text(advice.about(chosen, row, False))


def test_device_memory_caps_the_engine(setup_of):
    rows = advise.engines(setup_of(dram=50.0))
    assert max(row["raw_gb_per_s"] for row in rows) == pytest.approx(50.0)


def test_an_engine_pays_where_the_link_limits(setup_of):
    fast = advise.at_speed(setup_of("googlenet", dram=1e5), 10.0)
    assert advise.achieved(fast) == pytest.approx(1e13)
    found = advise.answer(fast)
    assert found.pays
    assert found.baseline in (*advise.BASELINES, "vdnn-all")
    slow = advise.answer(advise.at_speed(fast, 0.01))
    assert not slow.pays
    assert advise.break_even(advise.at_speed(fast, 0.01), EngineConfig()) is None


@pytest.mark.slow
def test_break_even_is_where_it_stops_to_pay(setup_of):
    setup = advise.at_speed(setup_of("googlenet", dram=1e5), 8.0)
    config = EngineConfig()
    density = advise.break_even(setup, config)
    assert 0 < density < 1
    for factor, expected in ((0.98, True), (1.02, False)):
        ratio = 1 / (density * factor + 1 / 32)
        one = replace(setup, profiles={"zv": advise.Uniform(ratio, config)})
        assert advise.answer(one).pays == expected


def test_dense_tensors_are_left_raw(setup_of):
    assert advise.left_raw(setup_of("alexnet")) == ["image"]
    found = advise.left_raw(setup_of("mobilenetv2"))
    assert "block2/project" in found
    assert "block2/expand/bn" not in found


def test_a_curve_falls_with_compute(setup_of):
    rows = advise.curve(setup_of(dram=math.inf))
    assert all(a["step_ms"] >= b["step_ms"] for a, b in pairwise(rows))
