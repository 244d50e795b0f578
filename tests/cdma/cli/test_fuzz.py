"""``cdma fuzz``."""

import json
import re
import shlex

import pytest

from cdma import designs
from cdma.cli.main import main
from cdma.errors import SimulationError
from cdma.hdl import Config, emit
from cdma.verify.fuzz import play

SMALL = ("--lanes", "4", "--word-bits", "16")


def test_help_has_an_example(helped):
    assert "\nexample:\n  cdma fuzz " in helped("fuzz")


def test_report(report):
    rows = report("fuzz", *SMALL, "--packets", 600, "--seed", 3)
    assert [row["unit"] for row in rows] == ["compressor", "decompressor", "roundtrip"]
    assert [row["packets"] for row in rows][::2] == [1000, 1000]
    assert rows[1]["malformed"] >= 600
    assert sum(rows[1]["errors"].values()) == rows[1]["packets"]
    for row in rows:
        assert (row["config"], row["seed"], row["verdict"]) == ("4x16", 3, "as it should be")
        assert (row["problem"], row["replay"]) == ("", None)
        assert row["cycles"] > row["packets"]


def test_table_and_progress(capsys):
    assert main(["fuzz", *SMALL, "--packets", "1", "--unit", "compressor"]) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"^compressor +4x16 +500 +- +1 +[\d,]+ .* as it should be$", out, re.M)


def test_failure_names_what_replays_it(capsys, monkeypatch):
    generate = designs.unit
    flip = (r"assign m_axis_tdata = (.*?);", r"assign m_axis_tdata = (\1) ^ 1;")
    monkeypatch.setattr(designs, "unit", lambda *args: re.sub(*flip, generate(*args)))
    assert main(["fuzz", *SMALL, "--unit", "compressor", "--packets", "1", "--seed", "9"]) == 1
    out, err = capsys.readouterr()
    assert "failed" in out
    message, replay = err.splitlines()[-2:]
    where = r"cdma fuzz: compressor 4x16, batch 0 \(seed \d+\): m_axis: a byte that is not kept "
    assert re.match(where, message)
    command = "cdma fuzz --unit compressor --config 4x16 --seed 9 --batch 0"
    assert replay == f"replay: {command} --waves fail.fst"
    assert main(command.split()[1:]) == 1
    assert capsys.readouterr().err.splitlines()[-2:] == [message, replay]


def test_a_unit_that_cannot_be_simulated_leaves_the_reports_before_it(
    capsys, monkeypatch, tmp_path
):
    fuzz, file = play.fuzz, tmp_path / "runs.json"

    def fails(unit, *what, **how):
        if unit == "decompressor":
            raise SimulationError("the design does not compile")
        return fuzz(unit, *what, **how)

    monkeypatch.setattr(play, "fuzz", fails)
    assert main(["fuzz", *SMALL, "--packets", "1", "--save", str(file), "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["status"] == 1
    assert err.splitlines()[-1] == "cdma fuzz: the design does not compile"
    assert [row["unit"] for row in json.loads(file.read_text())] == ["compressor"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--packets", "0"], "--packets must be 1 or more, not 0"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
        (["--batch", "-1"], "--batch must be 0 or more, not -1"),
        (["--lanes", "3"], "Number of lanes must be a power of two in 2..64, not 3"),
        (["--unit", "squeezer"], "invalid choice: 'squeezer'"),
        (["--resume"], "--resume is for the engine, not for units"),
    ],
)
def test_mistakes(refuse, options, message):
    assert message in refuse("fuzz", *options)


@pytest.mark.slow
def test_waveforms_of_a_batch(capsys, tmp_path):
    file = tmp_path / "batch.vcd"
    batch = ["--unit", "compressor", "--batch", "0", "--waves", str(file)]
    assert main(["fuzz", *SMALL, *batch]) == 0
    assert "m_axis_tdata" in file.read_text()
    capsys.readouterr()


def test_a_users_file_is_in_what_replays_it(capsys, tmp_path):
    flip = (r"assign m_axis_tdata = (.*?);", r"assign m_axis_tdata = (\1) ^ 1;")
    file = tmp_path / "my unit.v"
    file.write_text(re.sub(*flip, emit.verilog("compressor", Config.of(4, 16))))
    argv = ["--unit", "compressor", "--packets", "1", "--verilog", str(file)]
    assert main(["fuzz", *SMALL, *argv, "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert shlex.split(row["replay"])[-2:] == ["--verilog", str(file)]


@pytest.mark.slow
def test_engine(report, tmp_path):
    sizes = ("--channels", 2, "--lanes", 4, "--stripe-bytes", 1024, "--link-bytes", 8)
    saved = tmp_path / "fuzz.json"
    options = ("--latency", 60, "--packets", 1000, "--save", saved)
    (row,) = rows = report("fuzz", "--unit", "engine", *sizes, *options)
    assert (row["unit"], row["verdict"]) == ("engine", "as it should be")
    assert row["packets"] >= 1000
    assert {"OK", "BAD_DESCRIPTOR", "OVERFLOW"} < set(row["errors"])
    assert row["packets"] == sum(row["errors"].values()) == sum(row["kinds"].values())
    assert row["malformed"] == row["packets"] - row["errors"]["OK"]
    assert json.loads(saved.read_text()) == rows


@pytest.mark.slow
def test_engine_of_zvcplus(report):
    sizes = ("--channels", 1, "--stripe-bytes", 1024, "--link-bytes", 16, "--latency", 60)
    (row,) = report("fuzz", "--unit", "engine", "--codec", "zvcplus", *sizes, "--packets", 1000)
    assert row["verdict"] == "as it should be"
    assert row["config"] == "1x8x32s1024l16-zvcplus-fp32"
    assert {"OK", "BAD_DESCRIPTOR", "OVERFLOW", "INDEX", "CRC", "TRUNCATED"} < set(row["errors"])


def test_engine_options_that_are_refused(capsys):
    assert main(["fuzz", "--unit", "compressor", "--channels", "2"]) == 2
    assert "--channels is for the engine, not for units" in capsys.readouterr().err
    assert main(["fuzz", "--unit", "engine", "--channels", "5"]) == 2
    assert "Number of channels must be 1, 2, 4 or 8, not 5" in capsys.readouterr().err
