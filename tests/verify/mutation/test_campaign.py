"""The checks of the regression kill mutants. Survivors are proven equivalent or listed."""

import re
from itertools import count, islice

import pytest

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import Config as PlusConfig
from cdma.sim import SimulationError
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.stimulus import packets
from cdma.sweep import Outcome as SweepOutcome
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import campaign, mutants
from cdma.verify.mutation import player as players
from cdma.verify.mutation import trials as stimulus
from cdma.verify.mutation.campaign import EQUIVALENT, KILLED, OPEN, MutantResult, Outcome
from cdma.verify.mutation.lanes.unit import UnitLanes
from cdma.verify.mutation.player import Player
from cdma.verify.mutation.stages import IN_LANES
from cdma.verify.mutation.trials import Trial, first_trials, trials

SMALL = Config.of(2, 8, 32)
COUNT = 40


@pytest.fixture(scope="module")
def mutated():
    drawn = mutants.draw("compressor", SMALL, COUNT, 2, cache_folder())
    return mutants.weave(drawn, drawn.mutants, cache_folder())


@pytest.fixture(scope="module")
def model(mutated):
    return ModelUnit("compressor", SMALL, mutated.verilog, has_mutants=True)


def test_most_mutants_die(mutated, model):
    player = Player(model, first_trials("compressor", SMALL))
    results = [player.result(mutant) for mutant in mutated.mutants]
    assert [result.mutant for result in results] == mutated.mutants
    killed = [result for result in results if result.verdict == KILLED]
    assert len(killed) > 0.7 * COUNT
    assert all(result.trial and result.reason for result in killed)
    assert {result.verdict for result in results} == {KILLED, OPEN}
    assert [player.result(result.mutant) for result in killed[:5]] == killed[:5]


def test_without_trials_all_live(mutated, model):
    player = Player(model, [])
    assert {player.result(mutant).verdict for mutant in mutated.mutants} == {OPEN}


def test_a_trial_that_the_unit_fails_is_refused(model):
    scenario = Scenario(packets(SMALL)[:3])
    with pytest.raises(SimulationError, match=r"^odd: the unit without a fault: too even$"):
        Player(model, [Trial("odd", scenario, check=lambda played: "too even")])


def test_each_limit_of_a_trial_kills(mutated, model, monkeypatch):
    """An equivalent mutant fails a trial with an impossible limit."""
    alive = Player(model, islice(first_trials("compressor", SMALL), 3))
    same = next(mutant for mutant in mutated.mutants if alive.result(mutant).verdict == OPEN)
    scenario = Scenario(packets(SMALL)[:3])
    seen = []

    def second_time(played):
        seen.append(played)
        return "seen before" if len(seen) > 1 else ""

    slower = Trial("slower", scenario, is_timed=True)
    once = Trial("once", scenario, check=second_time)
    early = Trial("early", Scenario(scenario.packets, {"source": "paused:90,4"}), lost=20)
    assert Player(model, [once]).result(same) == MutantResult(same, KILLED, "once", "seen before")
    result = Player(model, [early]).result(same)
    assert re.fullmatch(r"\d+ cycles, at most \d+ expected", result.reason)
    player = Player(model, [slower])
    monkeypatch.setattr(players, "cycles_of", lambda played: len(seen))
    assert player.result(same).verdict == OPEN
    counts = count()
    monkeypatch.setattr(players, "cycles_of", lambda played: next(counts))
    assert player.result(same).reason == "other cycles than are on record"


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_trials_are_those_of_their_seed(unit):
    first, again, other = (
        [repr(trial) for trial in islice(first_trials(unit, SMALL, seed), 3)] for seed in (1, 1, 2)
    )
    assert first == again
    assert not set(first) & set(other)
    names = [trial.name for trials_of in (first_trials, trials) for trial in trials_of(unit, SMALL)]
    assert len(names) == len(set(names))


def test_long_commands_are_cut_off():
    every = list(trials("decompressor", SMALL))
    commands = [trial for trial in every if trial.cycles is not None]
    assert [trial.scenario.packets[0][1] for trial in commands] == [
        (1 << bit) + more for bit in range(16, 32) for more in (0, 1)
    ]


def test_score_leaves_out_what_is_no_fault(mutated):
    one, two, three, four = mutated.mutants[:4]
    results = [
        MutantResult(one, KILLED, "t", "r"),
        MutantResult(two, OPEN),
        MutantResult(three, EQUIVALENT),
    ]
    assert Outcome("compressor", SMALL, results, 1.0).score == 0.5
    assert Outcome("compressor", SMALL, results[:1], 1.0).score == 1.0
    assert Outcome("compressor", SMALL, [*results, MutantResult(four, KILLED)], 1.0).score == 2 / 3


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_a_sample_of_mutants(unit, tmp_path, monkeypatch):
    monkeypatch.setattr(stimulus, "LATE_BATCHES", 16)
    monkeypatch.setitem(campaign.STAGES, "same runs", 10)
    messages = []
    arguments = (unit, Config.of(4, 8, 16), 100)
    outcome = campaign.mutate(*arguments, seed=5, cache=tmp_path, progress=messages.append)
    assert len(outcome.results) == 100
    assert outcome.score >= 0.9, [result for result in outcome.results if result.verdict == OPEN]
    assert all(result.reason for result in outcome.of(OPEN))
    assert messages[0] == "drawing mutants"
    assert any("same graphs: " in text for text in messages)
    # The results come from the cache.
    messages.clear()
    again = campaign.mutate(*arguments, seed=5, cache=tmp_path, progress=messages.append)
    assert again.results == outcome.results
    assert messages == ["drawing mutants"]


@pytest.mark.slow
def test_the_same_on_a_cluster_that_loses_a_worker(tmp_path, frail_cluster, monkeypatch):
    stages = {"first trials": 0, "same graphs": 0, "same steps": 10}
    monkeypatch.setattr(campaign, "STAGES", stages)
    arguments = ("compressor", SMALL, COUNT, 2)
    here = campaign.mutate(*arguments, cache=tmp_path / "here")
    monkeypatch.setattr(campaign, "sweep", frail_cluster.losing(campaign.sweep))
    options = {"cache": tmp_path / "cluster", "scheduler": frail_cluster.address}
    there = campaign.mutate(*arguments, **options)
    assert frail_cluster.has_lost()
    assert there.of(KILLED) == here.of(KILLED)
    assert len(here.of(KILLED)) > 0.7 * COUNT
    # The progress of a search depends on the load of the machine, so reasons may differ.
    assert {result.mutant for result in there.of(OPEN)} == {
        result.mutant for result in here.of(OPEN)
    }


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_mutants_of_zvcplus_die(unit):
    config = PlusConfig("bf16")
    drawn = mutants.draw(unit, config, 20, 4, cache_folder())
    lanes = UnitLanes(drawn, drawn.mutants, config)
    killed = set()
    for trial in first_trials(unit, config):
        killed |= set(lanes.play(trial, [each for each in drawn.mutants if each not in killed]))
    assert len(killed) >= 12


@pytest.mark.parametrize(
    ("config", "stages"), [(SMALL, campaign.STAGES), (PlusConfig(), campaign.LARGE_STAGES)]
)
def test_stages_of_a_codec(monkeypatch, config, stages):
    """Mutants of large units play in lanes."""
    seen = []
    monkeypatch.setattr(campaign._Run, "draw", lambda run, count: setattr(run, "results", {}))
    monkeypatch.setattr(campaign._Run, "decide", lambda run, name, seconds=0: seen.append(name))
    campaign.mutate("compressor", config, 1)
    assert seen == list(stages)
    is_played = [name in IN_LANES for name in seen]
    assert sum(is_played) == (len(IN_LANES) if config.codec == "zvcplus" else 0)


def test_an_error_of_a_task_ends_the_run(mutated, tmp_path, monkeypatch):
    def broken(function, tasks, **where):
        yield from [SweepOutcome(task, error=SimulationError(task.name)) for task in tasks]

    drawn = mutants.Drawn("compressor", "", mutated.mutants)
    monkeypatch.setattr(mutants, "draw", lambda *_: drawn)
    monkeypatch.setattr(mutants, "weave", lambda *_: mutated)
    monkeypatch.setattr(campaign, "ModelUnit", lambda *_, **__: None)
    monkeypatch.setattr(campaign, "sweep", broken)
    with pytest.raises(SimulationError, match=r"^first trials, core\.\w+"):
        campaign.mutate("compressor", SMALL, COUNT, 2, cache=tmp_path)
