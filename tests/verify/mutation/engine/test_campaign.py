"""Mutants of the engine: drawn, played, counted."""

from dataclasses import replace

import pytest

from cdma.verify.mutation.campaign import KILLED, OPEN, Outcome
from cdma.verify.mutation.engine import campaign as engine
from cdma.verify.mutation.mutants import Mutant
from cdma.verify.mutation.player import MutantResult


def mutants(count):
    return [
        Mutant(n, "inv", "mux", "front", "Y", n, None, "hdl/engine/job.py:1", str(n))
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("killed", "played", "low", "high"),
    [(98, 100, 0.930, 0.994), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)],
)
def test_interval_of_a_sample(killed, played, low, high):
    assert engine.interval(killed, played) == pytest.approx((low, high), abs=1e-3)


def test_a_sample_is_spread_evenly():
    drawn = mutants(10)
    assert [each.number for each in engine.spread(drawn, 4)] == [1, 3, 6, 8]
    assert engine.spread(drawn, None) == engine.spread(drawn, 12) == drawn


def test_faults_of_the_units_are_left_out():
    inside = replace(mutants(1)[0], module="data.offload.channel0.codec.compressor.intake")
    around = replace(mutants(1)[0], module="data.offload.channel0.codec")
    assert engine.is_own(around)
    assert not engine.is_own(inside)


def test_record_has_the_interval():
    results = [MutantResult(each, KILLED, "few jobs", "AW: changed") for each in mutants(10)]
    results[3] = MutantResult(results[3].mutant, OPEN, reason="no trial kills this mutant")
    found = engine.record(Outcome("engine", engine.small_engine(), results, 1.0), 0, 1000)
    assert (found["mutants"], found["drawn"], found["killed"], found["open"]) == (10, 1000, 9, 1)
    assert (found["low"], found["high"]) == (0.5958, 0.9821)
    assert [each["number"] for each in found["survivors"]] == [4]


@pytest.mark.slow
def test_some_mutants_are_played_and_kept(tmp_path):
    said = []
    arguments = {"sample": 20, "only": ("few jobs", "registers", "queues"), "cache": tmp_path}
    first = engine.mutate(engine.small_engine(), 60, 1, **arguments)
    assert len(first.results) == 20
    assert len(first.of(KILLED)) >= 8
    assert {each.trial for each in first.of(KILLED)} <= set(arguments["only"])
    again = engine.mutate(engine.small_engine(), 60, 1, progress=said.append, **arguments)
    assert again.results == first.results
    assert said == ["drawing mutants"]


def test_results_are_kept_by_trial(tmp_path):
    one, two, three = mutants(3)
    kept = engine.Kept(tmp_path / "results.json")
    kept.add("few jobs", [one, two], {one: "irq differs in cycle 5"})
    kept.add("queues", [one, two], {one: "irq differs in cycle 9", two: "irq differs in cycle 3"})
    kept.judge(three, "equivalent", "reaches no port")
    again = engine.Kept(tmp_path / "results.json")
    for each in (kept, again):
        assert each.result(one) == MutantResult(one, KILLED, "few jobs", "irq differs in cycle 5")
        assert each.result(two) == MutantResult(two, KILLED, "queues", "irq differs in cycle 3")
        assert each.result(three).verdict == "equivalent"
        assert each.has_played("queues", one)
        assert each.has_played("rings", two), "it is killed"
        assert not each.has_played("rings", three)
        assert not each.is_judged(two)
