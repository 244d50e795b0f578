"""Random runs of the engine: a fault is found and played again, wherever the batches run."""

import itertools
import json
import re
from dataclasses import replace

import pytest

from cdma import designs
from cdma.cli.engine import engine_config_from
from cdma.cli.main import build_parser, main
from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.sim.engine import engine as access
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.fuzz import engine
from cdma.verify.fuzz.engine import (
    SIZES,
    Batch,
    Outcome,
    breaks,
    design,
    fuzz,
    outcome_of,
    rounds,
    scenarios,
)
from cdma.verify.fuzz.engine import play as module
from cdma.verify.fuzz.engine import report as report_module
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
    assert found["design"] == design(CONFIG) != design(replace(CONFIG, link_bytes=16))
    assert same(outcome_of(json.loads(json.dumps(found)))) == same(here)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rounds_of_one_scenario(monkeypatch, scenario):
    """Of a million jobs, few are in a rare one."""
    only = {name: (name == scenario, play) for name, (_, play) in SCENARIOS.items()}
    monkeypatch.setattr(rounds, "SCENARIOS", only)
    for number in range(10):
        batch = Batch(SIZES[0][0], 6, number)
        assert batch.play() == ""
        batch.close()


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
def test_a_job_that_a_round_does_not_have():
    with pytest.raises(UserError, match=r"^round 0 has \d+ jobs, there is no job 999$"):
        fuzz(CONFIG, 1, seed=3, batch=0, round_=0, only=999)


@pytest.mark.slow
def test_an_engine_that_cannot_be_programmed_is_a_finding(monkeypatch):
    """It has a batch to play again."""
    monkeypatch.setattr(access, "ACCESS_CYCLES", 1)
    found = fuzz(CONFIG, 400, seed=3)
    assert re.match(r"batch 0, before the first round, s_axil: no answer from 0x", found.problem)
    assert report_module.row(CONFIG, 3, found)["replay"].endswith("--seed 3 --batch 0")


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "find", "replace_by", "message"),
    [
        ("abort", r"was_aborted \? 7'h7f", "was_aborted ? 7'h01", "expected channel 0x7f"),
        (
            "abort",
            r"(is_failed \? \S+  : 64'h0{16})",  # where
            r"\1 + is_aborted",
            "expected where 0x0",
        ),
        (
            "timeout",
            r"(\.stripe  = is_failed \? error\[35:4\])",
            r"\1 + (error[92:85] == 36)",
            "expected status",
        ),
        (
            "timeout",
            r"(is_failed \? \{ 15'h0000, \S+  \})( : \{ 15'h0000, oldest)",  # stream bytes
            r"\1 + 4\2",
            "expected stream_bytes",
        ),
        (
            "stop",
            r"\.quarantined\(quarantined\)",
            ".quarantined(quarantined | urgent[1])",
            "alarms are 0x4, expected 0x0",
        ),
    ],
)
def test_a_fault_in_a_round_that_is_broken_off(monkeypatch, scenario, find, replace_by, message):
    monkeypatch.setitem(SCENARIOS, scenario, (10**9, SCENARIOS[scenario][1]))
    verilog = spoiled(find, replace_by)
    for number in range(20):
        batch = Batch(CONFIG, 11, number, verilog)
        problem = batch.play() if batch.is_prompt else ""
        batch.close()
        if problem:
            break
    assert message in problem


@pytest.mark.slow
def test_an_entry_of_a_completion_ring_that_changes(monkeypatch):
    batch = Batch(CONFIG, 11, 0)
    memory = batch.model.rings[OFFLOAD]
    played = scenarios.plain

    def play(round_):
        problem = played(round_)
        memory.completions.data[32 * ((memory.head + 1) % (1 << memory.log2)) + 3] ^= 1
        return problem

    monkeypatch.setitem(SCENARIOS, "plain", (10**9, play))
    assert re.search(r"entry \d+ of completion ring 0 has changed", batch.play())
    batch.close()


@pytest.mark.slow
def test_bytes_of_a_job_that_was_broken_off_are_old_or_new(monkeypatch):
    played = breaks.reset

    def play(round_):
        before = round_.batch.heap.copy()
        problem = played(round_)
        for part, at, data in (write for plan in round_.jobs for write in plan.writes):
            good = before[part.space][part.at + at], data[0]
            part.data[at] = next(byte for byte in range(256) if byte not in good)
        return problem

    monkeypatch.setitem(SCENARIOS, "reset", (10**9, play))
    batch = Batch(CONFIG, 11, 0)
    assert re.search(r"byte [\d,]+ of [\d,]+ at 0x\w+ is \d+, expected", batch.play())
    batch.close()


@pytest.mark.parametrize("config", [config for config, _ in SIZES], ids=lambda each: each.name)
def test_the_options_of_a_replay_give_the_size(config):
    argv = ["fuzz", "--unit", "engine", *options(config).split()]
    assert engine_config_from(build_parser().parse_args(argv)) == config


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--round", "1"], "--round needs --batch"),
        (["--batch", "1", "--job", "1"], "--job needs --round"),
        (["--batch", "1", "--round", "24"], "--round must be below 24, not 24"),
        (["--all-sizes", "--lanes", "4"], "--lanes is for one size: leave --all-sizes out"),
        (["--all-sizes", "--batch", "4"], "--batch is for one size: leave --all-sizes out"),
        (["--resume", "--save", "run.json"], "--resume needs --all-sizes and --save"),
        (["--all-sizes", "--resume"], "--resume needs --all-sizes and --save"),
    ],
)
def test_options_that_are_refused(refuse, argv, message):
    assert message in refuse("fuzz", "--unit", "engine", *argv)


@pytest.fixture
def played(monkeypatch):
    """Calls of ``fuzz`` by the command line: size, jobs, and jobs of the run before. No engine is
    built; each run plays a job more than it must."""
    calls = []

    def play(config, jobs, seed, batch, *, before=None, **options):
        found = before or Outcome()
        calls.append((config.name, jobs, found.jobs))
        more = max(0, jobs + 1 - found.jobs)
        found.jobs, found.batches = found.jobs + more, found.batches + 1
        found.kinds["copy"] += more
        found.statuses["OK"] += more
        return found

    monkeypatch.setattr(engine, "fuzz", play)
    monkeypatch.setattr(report_module, "design", lambda config, progress=None: f"of {config.name}")
    monkeypatch.setattr(engine, "design", lambda config: f"of {config.name}")
    return calls


def fuzzed(file, packets, *options):
    argv = ["fuzz", "--unit", "engine", "--all-sizes", "--save", str(file), "--seed", "4"]
    return main([*argv, "--packets", str(packets), *options])


def test_a_run_that_was_saved_goes_on(played, tmp_path):
    file = tmp_path / "run.json"
    assert fuzzed(file, 200, "--resume") == 0, "nothing is kept: it begins"
    first = json.loads(file.read_text())
    assert len(first) == len(SIZES) == len({row["config"] for row in first})
    played.clear()
    assert fuzzed(file, 1000, "--resume") == 0
    names = [config.name for config, _ in SIZES]
    assert [(name, before) for name, _, before in played] == [
        (row["config"], row["packets"]) for row in first
    ]
    second = json.loads(file.read_text())
    assert [row["config"] for row in second] == names
    for old, new in zip(first, second, strict=True):
        assert new["packets"] > old["packets"]
        assert new["errors"] == {"OK": new["packets"]}
        assert new["kinds"] == {"copy": new["packets"]}
        assert new["batches"] == 2
    played.clear()
    assert fuzzed(file, 1000) == 0
    assert all(not before for _, _, before in played), "without --resume it begins again"


def test_a_size_that_has_changed_begins_again(played, tmp_path):
    file = tmp_path / "run.json"
    assert fuzzed(file, 200) == 0
    rows = json.loads(file.read_text())
    rows[1]["design"] = "another"
    file.write_text(json.dumps(rows))
    played.clear()
    assert fuzzed(file, 1000, "--resume") == 0
    kept = [before for _, _, before in played]
    assert kept == [0 if number == 1 else row["packets"] for number, row in enumerate(rows)]
    assert [row["config"] for row in json.loads(file.read_text())] == [
        row["config"] for row in rows
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 5}, "run of another seed"),
        ({"config": "9x9"}, "run of other sizes"),
        ({"problem": "batch 3, hangs"}, "run that failed"),
    ],
)
def test_a_run_that_cannot_go_on(played, tmp_path, capsys, change, message):
    file = tmp_path / "run.json"
    assert fuzzed(file, 200) == 0
    rows = json.loads(file.read_text())
    rows[-1] |= change
    file.write_text(json.dumps(rows))
    played.clear()
    assert fuzzed(file, 1000, "--resume") == 2
    assert message in capsys.readouterr().err
    assert not played


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"7", b"[7]", b'{"config": 1}', b'[{"config": "2x2"}]']
)
def test_a_file_that_is_no_report_is_refused_and_kept(played, tmp_path, capsys, content):
    file = tmp_path / "run.json"
    file.write_bytes(content)
    assert fuzzed(file, 1000, "--resume") == 2
    assert "is not a report of random jobs" in capsys.readouterr().err
    assert not played
    assert file.read_bytes() == content


def test_a_cluster_needs_no_programs_here(monkeypatch):
    """Only the workers build."""

    def generate(*_):
        raise UserError("it was generated")

    monkeypatch.setattr(designs, "engine", generate)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="it was generated"):
        module.fuzz(CONFIG, 10, scheduler="tcp://localhost:1")
