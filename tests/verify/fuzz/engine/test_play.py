"""Random runs of the engine: a fault is found and played again, wherever the batches run."""

import itertools
import re
from dataclasses import replace

import pytest

from cdma import designs
from cdma.cli.engine import engine_config_from
from cdma.cli.main import build_parser
from cdma.engine_config import EngineConfig
from cdma.verify.fuzz.engine import SIZES, Batch, fuzz
from cdma.verify.fuzz.engine import play as module
from cdma.verify.fuzz.engine.report import options, row
from cdma.verify.fuzz.engine.rounds import SCENARIOS

#: The engine of the tests of `tests/sim/engine`: built once for both.
CONFIG = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60)


@pytest.fixture(scope="module")
def here():
    """Outcome of a run in this process."""
    return fuzz(CONFIG, 1500, seed=3)


def same(outcome):
    """An outcome without the fields that differ between runs."""
    return replace(outcome, seconds=0.0)


@pytest.mark.slow
def test_jobs_of_every_kind_end_as_they_must(here):
    assert here.problem == ""
    assert here.jobs >= 1500
    assert here.jobs == here.kinds.total() == here.statuses.total()
    kinds = {"offload", "append", "measure", "copy_out", "prefetch", "damaged", "verify"}
    assert kinds | {"copy_in", "nop", "bad"} <= set(here.kinds)
    assert {"OK", "BAD_DESCRIPTOR", "OVERFLOW", "INDEX", "CRC", "ABORTED"} <= set(here.statuses)
    found = row(CONFIG, 3, here)
    assert (found["packets"], found["malformed"]) == (here.jobs, here.faulty)
    assert found["replay"] is None


@pytest.mark.slow
def test_the_same_in_processes(here, monkeypatch):
    monkeypatch.setattr(module, "TASK_BATCHES", 1)
    monkeypatch.setattr(module, "_PROCESS_TASKS", 1)
    assert same(fuzz(CONFIG, 1500, seed=3, processes=2)) == same(here)


@pytest.mark.slow
def test_a_run_continues(here):
    before = fuzz(CONFIG, 700, seed=3)
    jobs, seconds = before.jobs, before.seconds
    assert jobs < here.jobs
    assert same(fuzz(CONFIG, 1500, seed=3, before=before)) == same(here)
    assert before.seconds > seconds


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_of_rounds(monkeypatch, scenario):
    """Each scenario alone, in rounds that all have it."""
    monkeypatch.setitem(SCENARIOS, scenario, (10**9, SCENARIOS[scenario][1]))
    batches = (Batch(CONFIG, 11, number) for number in itertools.count())
    batch = next(each for each in batches if each.is_prompt)
    assert batch.play() == ""
    batch.close()


def spoiled(find, replace_by):
    """Verilog of the engine with a fault in its top level."""
    text, count = re.subn(find, replace_by, designs.engine(CONFIG))
    assert count
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("find", "replace_by", "message"),
    [
        (
            r"assign m_axi_link_wdata = (.*?);",
            r"assign m_axi_link_wdata = \1 ^ (m_axi_link_wstrb == 15);",
            "byte",
        ),
        (
            r"assign m_axi_link_aruser = (.*?);",
            r"assign m_axi_link_aruser = \1 ^ (m_axi_link_araddr[8:6] == 5);",
            "attributes of a burst",
        ),
        (r"\.irq\(irq\),", ".irq(), // stays low", "irq is"),
    ],
)
def test_a_fault_is_found_and_replayed(find, replace_by, message):
    verilog = spoiled(find, replace_by)
    found = fuzz(CONFIG, 6000, seed=5, verilog=verilog)
    assert message in found.problem
    where = {"round_": found.failed_round, "verilog": verilog}
    again = fuzz(CONFIG, 1, 5, found.failed_batch, **where)
    assert message in again.problem
    job = re.search(r"job (\d+)", found.problem)
    if job:
        alone = fuzz(CONFIG, 1, 5, found.failed_batch, only=int(job[1]), **where)
        assert "job 0" in alone.problem


@pytest.mark.parametrize("config", [config for config, _ in SIZES], ids=lambda each: each.name)
def test_the_options_of_a_replay_give_the_size(config):
    argv = ["fuzz", "--unit", "engine", *options(config).split()]
    assert engine_config_from(build_parser().parse_args(argv)) == config


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--round", "1"], "--round needs --batch"),
        (["--batch", "1", "--job", "1"], "--job needs --round"),
        (["--all-sizes", "--lanes", "4"], "--lanes is for one size: leave --all-sizes out"),
        (["--all-sizes", "--batch", "4"], "--batch is for one size: leave --all-sizes out"),
    ],
)
def test_options_that_are_refused(refuse, argv, message):
    assert message in refuse("fuzz", "--unit", "engine", *argv)
