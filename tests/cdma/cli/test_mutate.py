"""``cdma mutate``."""

import importlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from cdma.cli.main import main
from cdma.cli.mutate import LEAST_SCORE
from cdma.hdl.zvc.config import Config
from cdma.sim import SimulationError
from cdma.verify.mutation import campaign
from cdma.verify.mutation.campaign import EQUIVALENT, KILLED, OPEN, MutantResult, Outcome
from cdma.verify.mutation.engine import campaign as engine
from cdma.verify.mutation.mutants import Mutant

ROOT = Path(__file__).parents[3]


def outcome(unit, config, count, seed, jobs, scheduler, progress):
    """Of a hundred one is no fault and the last is open, of fewer mutants too."""
    progress("drawing mutants")
    mutants = [
        Mutant(
            n,
            "inv",
            "mux",
            "core.ring",
            "Y",
            n,
            None,
            f"hdl/zvc/decompressor/ring.py:{200 - n}",
            "",
        )
        for n in range(1, count + 1)
    ]
    results = [MutantResult(mutant, KILLED, "packets", "m_axis: other bytes") for mutant in mutants]
    results[0] = MutantResult(mutants[0], EQUIVALENT)
    results[-1] = MutantResult(mutants[-1], OPEN, reason="undecided")
    return Outcome(unit, config, results, 2.5)


@pytest.fixture(autouse=True)
def played(monkeypatch):
    monkeypatch.setattr(campaign, "mutate", outcome)


def test_help_has_an_example(helped):
    assert "\nexample:\n  cdma mutate " in helped("mutate")


def test_report(report, tmp_path):
    saved = tmp_path / "mutation.json"
    found = report("mutate", "--count", 100, "--seed", 3, "--save", saved)
    assert json.loads(saved.read_text()) == found
    compressor, decompressor = found
    assert (compressor["unit"], decompressor["unit"]) == ("compressor", "decompressor")
    assert compressor["config"] == Config.of(4, 8, 16).name
    counts = [compressor[key] for key in ("seed", "mutants", "killed", "equivalent", "open")]
    assert counts == [3, 100, 98, 1, 1]
    assert compressor["score"] == 98 / 99
    assert compressor["trials"] == {"packets": 98}
    last, first = compressor["survivors"]
    assert last == {
        "line": "hdl/zvc/decompressor/ring.py:100",
        "number": 100,
        "mutant": "core.ring: mux.Y[100] inverted",
        "verdict": "open",
        "known": "undecided",
    }
    assert (first["line"], first["verdict"]) == ("hdl/zvc/decompressor/ring.py:199", "equivalent")


def test_tables_and_progress(capsys):
    assert main(["mutate", "--unit", "compressor", "--count", "100", "--config", "2x8b32"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^compressor +2x8b32 +100 +98 +1 +1 +99.0%$", out, re.M)
    line = r"^compressor +hdl/zvc/.*/ring.py:100 +core.ring: mux.Y\[100\] inverted +undecided$"
    assert re.search(line, out, re.M)
    assert "hdl/zvc/decompressor/ring.py:199" not in out
    assert err.endswith("compressor 2x8b32: drawing mutants\n")


def test_a_sample_of_the_engine(report, monkeypatch):
    def mutate(config, count, seed, *, sample, jobs, scheduler, progress):
        assert (config.channels, config.lanes, sample) == (2, 2, 100)
        return outcome("engine", config, sample, seed, jobs, scheduler, progress)

    monkeypatch.setattr(engine, "mutate", mutate)
    (found,) = report("mutate", "--unit", "engine", "--sample", 100)
    assert (found["unit"], found["mutants"], found["drawn"]) == ("engine", 100, 1000)
    assert found["low"] < found["killed"] / 100 < found["high"]


@pytest.mark.parametrize(
    "size", [("--codec", "zvcplus", "--type", "bf16"), ("--config", "zvcplus-bf16")]
)
def test_units_of_the_second_codec(report, size):
    found = report("mutate", *size, "--count", 100)
    assert [each["config"] for each in found] == ["zvcplus-bf16"] * 2


def test_too_few_found(capsys):
    assert main(["mutate", "--unit", "decompressor", "--count", "50", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)[0]["score"] < 0.98
    assert err.endswith("cdma mutate: decompressor: fewer than 98% of the faults were found\n")


def test_unit_that_fails_without_a_fault(capsys, monkeypatch):
    def fail(*args, **options):
        raise SimulationError("packets: the unit without a fault: packet 0: status is wrong")

    monkeypatch.setattr(campaign, "mutate", fail)
    assert main(["mutate"]) == 1
    assert capsys.readouterr().err.startswith("cdma mutate: packets: the unit without a fault: ")
    assert main(["mutate", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["status"] == 1
    assert error["message"].endswith("packet 0: status is wrong")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "0"], "--count must be 1 or more, not 0"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
        (["--jobs", "0"], "--jobs: must be an integer of at least 1, not '0'"),
        (
            ["--config", "8"],
            "Configuration must be lanes x word bits such as 8x32 or 8x32b64, not '8'",
        ),
        (["--config", "3x8"], "Number of lanes must be a power of two in 2..64, not 3"),
        (["--unit", "roundtrip"], "invalid choice: 'roundtrip'"),
        (["--sample", "9"], "--sample is for the engine, not for units"),
        (
            ["--unit", "engine", "--codec", "zvcplus"],
            "cdma mutate --unit engine is for codec zvc, not for zvcplus",
        ),
        (
            ["--config", "8x32", "--codec", "zvcplus"],
            "--config names the whole size: leave out --codec",
        ),
        (["--config", "zvcplus-all"], "cdma mutate takes units of one type, not zvcplus-all"),
    ],
)
def test_mistakes(refuse, options, message):
    assert message in refuse("mutate", *options)


@pytest.fixture
def document(monkeypatch):
    """The module that fills in the tables."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "draw")
    return importlib.import_module("verification")


@pytest.mark.parametrize("measured", ["mutation", "mutation_zvcplus"])
def test_as_many_faults_are_found_as_must_be(document, measured):
    """By trials and proofs together."""
    proofs = {"mutation": "mutation_proofs", "mutation_zvcplus": "mutation_zvcplus_proofs"}
    records = document.judged(measured, proofs[measured])
    assert [record["unit"] for record in records] == ["compressor", "decompressor"]
    for record in records:
        assert record["mutants"] >= 1000
        assert record["score"] >= LEAST_SCORE
        known = Counter(survivor["verdict"] for survivor in record["survivors"])
        known["killed"] = sum(record["trials"].values())
        verdicts = ("killed", "refuted", "equivalent", "open")
        assert {verdict: record[verdict] for verdict in verdicts} == {
            verdict: known[verdict] for verdict in verdicts
        }
        assert sum(record[verdict] for verdict in verdicts) == record["mutants"]


def test_record_of_the_options(document):
    """Both units of each option, and each reaches the goal."""
    records = document.tables.read("mutation_options")
    configs = [f"4x8b16-{option}" for option in ("asic", "ones", "ones-asic", "z80", "zport")]
    units = ("compressor", "decompressor")
    found = [(record["config"], record["unit"]) for record in records]
    assert found == [(config, unit) for config in configs for unit in units]
    for record in records:
        assert record["mutants"] >= 500
        assert record["killed"] + record["equivalent"] + record["open"] == record["mutants"]
        assert sum(record["trials"].values()) == record["killed"]
        assert record["score"] >= LEAST_SCORE


def test_record_of_the_second_codec(document):
    """A sample; its verdicts add up, and at least nine of ten faults are found."""
    records = document.tables.read("mutation_zvcplus")
    assert [record["unit"] for record in records] == ["compressor", "decompressor"]
    for record in records:
        assert record["config"].startswith("zvcplus-")
        assert record["killed"] + record["equivalent"] + record["open"] == record["mutants"]
        assert sum(record["trials"].values()) == record["killed"]
        assert record["score"] == record["killed"] / (record["mutants"] - record["equivalent"])
        assert record["score"] > 0.9


def test_table_of_the_document_is_current(document):
    text = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
    assert text.count("<!-- table: mutants -->") == text.count("<!-- table: survivors -->") == 1
    assert document.fill(text) == text, "run python docs/draw and commit the page"
