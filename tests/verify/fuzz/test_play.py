"""A run gives the same result wherever its batches run, and ends with the first that fails."""

from dataclasses import replace

import pytest

from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.sweep import Outcome, sweep
from cdma.verify.fuzz import play
from cdma.verify.fuzz.play import fuzz

CONFIG = Config.of(4, 16)
#: Ten batches, two per task.
RUN = ("decompressor", CONFIG, 4500, 7)
#: The error code of streams of 280 bytes loses a bit, which batches 5 and 8 detect.
WRONG = "x & ~({40{x[31:0] == 32'd280}} & 40'd2 << 32)"
FAULT = ("decompressor", CONFIG, "m_axis_sts_tdata", WRONG)


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    monkeypatch.setattr(play, "TASK_BATCHES", 2)
    monkeypatch.setattr(play, "PROCESS_TASKS", 1)


@pytest.fixture(scope="module")
def here():
    """Outcome of the run in this process."""
    return fuzz(*RUN)


def same(outcome):
    """An outcome without the fields that differ between runs."""
    return replace(outcome, seconds=0.0)


@pytest.mark.slow
def test_as_many_batches_as_it_takes(here):
    assert here.problem == ""
    assert here.batches == 10
    assert here.malformed >= 4500
    before = fuzz("decompressor", CONFIG, here.malformed - 500, 7)
    assert before.batches < here.batches


@pytest.mark.slow
def test_the_same_in_processes(here):
    assert same(fuzz(*RUN, jobs=2)) == same(here)


@pytest.mark.slow
def test_the_same_on_a_cluster_that_loses_a_worker(here, frail_cluster, monkeypatch):
    monkeypatch.setattr(play, "sweep", frail_cluster.losing(sweep))
    assert same(fuzz(*RUN, scheduler=frail_cluster.address)) == same(here)
    assert frail_cluster.has_lost()


@pytest.mark.slow
def test_the_first_failure_ends_the_run_everywhere(spoiled, frail_cluster, monkeypatch):
    verilog = spoiled(*FAULT)
    here = fuzz(*RUN, verilog=verilog)
    assert here.failed_batch == here.batches - 1 == 5
    assert same(fuzz(*RUN, verilog=verilog, jobs=2)) == same(here)
    monkeypatch.setattr(play, "sweep", frail_cluster.losing(sweep))
    outcome = fuzz(*RUN, verilog=verilog, scheduler=frail_cluster.address)
    assert same(outcome) == same(here)
    again = fuzz(*RUN, here.failed_batch, verilog=verilog)
    assert (again.problem, again.failed_batch) == (here.problem, here.failed_batch)


@pytest.mark.slow
def test_the_lowest_batch_counts_whichever_ends_first(spoiled, monkeypatch):
    verilog = spoiled(*FAULT)
    here = fuzz(*RUN, verilog=verilog)

    def backwards(function, tasks, **where):
        yield from [Outcome(task, function(task.argument)) for task in reversed(tasks)]

    monkeypatch.setattr(play, "sweep", backwards)
    assert same(fuzz(*RUN, verilog=verilog)) == same(here)


def test_more_batches_when_they_were_too_few(here, monkeypatch):
    monkeypatch.setattr(play, "_MALFORMED_SHARE", 3)
    assert same(fuzz(*RUN)) == same(here)


def test_an_error_is_reported(monkeypatch):
    def broken(function, tasks, **where):
        yield from [Outcome(task, error=UserError(task.name)) for task in reversed(tasks)]

    monkeypatch.setattr(play, "sweep", broken)
    with pytest.raises(UserError, match=r"^decompressor 4x16, batches 0 to 1$"):
        fuzz(*RUN)
