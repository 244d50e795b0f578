import argparse
import json
import re

import numpy as np
import pytest

from cdma.cli import bench
from cdma.cli.main import main
from cdma.errors import SimulationError, UserError
from cdma.sim.engine import measure
from cdma.sim.engine.bench import report as report_of_targets
from cdma.study import speed
from cdma.toolchain import simulators
from cdma.zvcplus import REPEATS, TYPES

NOT_OF_ENGINES = "is not for --engine and --targets: leave it out"


def run(*arguments) -> int:
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    args = parser.parse_args(["bench", *arguments])
    return args.run(args)


@pytest.mark.slow
def test_json(capsys):
    assert run("--mib", "1", "--density", "0.25", "--json") == 0
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert result["bytes"] == 1 << 20
    assert result["density"] == 0.25
    assert result["ratio"] == pytest.approx(1 / (0.25 + 1 / 32), rel=0.02)
    rows = {row["operation"]: row for row in result["operations"]}
    assert list(rows) == [
        *("zlib -6 compress", "compress", "container write"),
        *("zlib decompress", "decompress", "container read"),
    ]
    for name, row in rows.items():
        assert row["mb_per_s"] > 0
        assert (row["times_zlib"] is None) == name.startswith("zlib")
        if row["times_zlib"] is not None:
            assert 0 < row["peak_times_array"] < 10
    assert all(f"bench: {name}\n" in output.err for name in rows)
    plus = {row["operation"]: row for row in result["zvcplus"]}
    names = {"none": "no repeats", "left": "left", "above": "above"}
    assert list(plus) == [f"{type_}, {names[repeats]}" for type_ in TYPES for repeats in REPEATS]
    assert all(row["compress_mb_per_s"] > 0 < row["decompress_mb_per_s"] for row in plus.values())
    assert all(row["ratio"] > 3 for row in plus.values())
    cocotb, compiled = result["rtl"]
    assert cocotb["cycles"] == compiled["cycles"] > (1 << 20) / 32
    assert cocotb["times_cocotb"] is None
    assert compiled["times_cocotb"] == pytest.approx(compiled["mb_per_s"] / cocotb["mb_per_s"])


@pytest.mark.slow
def test_table(capsys):
    assert run("--mib", "1") == 0
    out = capsys.readouterr().out
    assert out.startswith("1 MiB of fp32 at density 0.5: ratio 1.8")
    assert re.search(r"^decompress +[\d,.]+ +[\d.,]+ +[\d.]+$", out, re.MULTILINE)
    assert re.search(r"^compressor 8x32, compiled +[\d,]+ +[\d.,]+ +[\d.]+$", out, re.MULTILINE)


def test_zvcplus_that_does_not_come_back_is_noticed(monkeypatch):
    decompress = speed.zvcplus.decompress
    monkeypatch.setattr(speed.zvcplus, "decompress", lambda *args: decompress(*args)[::-1])
    with pytest.raises(AssertionError, match=r"ZVC\+ fp32, no repeats does not return the array"):
        speed.measure_zvcplus(1 << 12, 0.5)


def test_rtl_is_left_out_without_its_tools(capsys, monkeypatch):
    monkeypatch.setattr(simulators, "SIMULATORS", ())
    assert run("--mib", "1", "--json") == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["rtl"] == []
    assert "bench: RTL left out: " in output.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mib", "0"), "--mib must lie in 1..65536, not 0"),
        (("--mib", "9" * 20), f"--mib must lie in 1..65536, not {'9' * 20}"),
        (("--engine", "x.npy", "--density", "3"), f"--density {NOT_OF_ENGINES}"),
        (("--engine", "x.npy", "--mib", "64"), f"--mib {NOT_OF_ENGINES}"),
        (("--targets", "--density", "0.5"), f"--density {NOT_OF_ENGINES}"),
        (("--density", "1.5"), "--density must lie in 0..1, not 1.5"),
        (("--density", "nan"), "--density must lie in 0..1, not nan"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        run(*arguments)


@pytest.mark.slow
def test_compiled_rtl_is_thirty_times_as_fast_as_cocotb():
    """In the best of three runs: other processes slow down one simulator or the other."""
    runs = (speed.measure_rtl(speed.RTL_BYTES, 0.5) for _ in range(3))
    assert any(compiled["times_cocotb"] >= 30 for _, compiled in runs)


def test_options_of_the_engine(refuse, tmp_path):
    for name, words in {"a": np.zeros(4, "<u4"), "b": np.zeros(4, "<u2")}.items():
        np.save(tmp_path / f"{name}.npy", words)
    message = refuse("bench", "--channels", 2)
    assert message == "cdma bench: --channels is for --engine and --targets: leave it out"
    message = refuse("bench", "--engine", tmp_path / "a.npy", tmp_path / "b.npy")
    assert message == "cdma bench: the tensors must have elements of one width"
    message = refuse("bench", "--engine", tmp_path / "a.npy", "--channels", 3)
    assert message == "cdma bench: Number of channels must be 1, 2, 4 or 8, not 3"


def test_cycles_of_the_engine(monkeypatch, report, tmp_path):
    """What the model measures is printed and saved; a tensor that differs ends with 1."""
    np.save(tmp_path / "a.npy", np.zeros(400, "<u4"))
    seen = []

    def measured(tensors, configs, progress):
        for config in configs:
            seen.append((list(tensors), config.name))
            yield {
                "tensor": next(iter(tensors)),
                "channels": config.channels,
                "comparison": "equal",
            }

    monkeypatch.setattr(measure, "measure", measured)
    file = tmp_path / "engine.json"
    result = report("bench", "--engine", tmp_path / "a.npy", "--channels", 1, 4, "--save", file)
    assert [name for _, name in seen] == ["1x8x32s4096l16", "4x8x32s4096l16"]
    assert [row["channels"] for row in result["records"]] == [1, 4]
    assert result["records"][0]["tensor"] == "a.npy"
    assert json.loads(file.read_text()) == result


def test_targets_of_the_engine(monkeypatch, capsys, refuse, tmp_path):
    """What was measured is printed and saved; a target that is missed ends with 1."""
    verdicts = ["met", "met"]

    def measured(configs, progress):
        row = {"what": "a", "case": "b", "target": "<= 4", "measured": "4"}
        records = [row | {"verdict": each, "channels": 1} for each in verdicts]
        return {"records": records, "sweeps": [config.name for config in configs]}

    monkeypatch.setattr(report_of_targets, "measure", measured)
    file = tmp_path / "targets.json"
    assert run("--targets", "--save", str(file)) == 0
    assert capsys.readouterr().out.endswith("2 of 2 met\n")
    default = [f"{channels}x8x32s4096l16" for channels in (1, 2, 4, 8)]
    assert json.loads(file.read_text())["sweeps"] == default
    verdicts[0] = "missed"
    assert run("--targets", "--channels", "2", "--json") == 1
    assert json.loads(capsys.readouterr().out)["sweeps"] == ["2x8x32s4096l16"]
    message = refuse("bench", "--targets", "--engine", "a.npy")
    assert message == "cdma bench: give either --engine or --targets, not both"


@pytest.mark.parametrize(
    ("module", "options"), [(measure, ["--engine", "{}"]), (report_of_targets, ["--targets"])]
)
def test_engine_that_cannot_be_simulated(monkeypatch, capsys, tmp_path, module, options):
    """No mistake of the user: status 1, as of every command."""

    def fail(*_):
        raise SimulationError("the model was ended after 60 s")

    np.save(tmp_path / "a.npy", np.zeros(400, "<u4"))
    monkeypatch.setattr(module, "measure", fail)
    assert main(["bench", *(each.format(tmp_path / "a.npy") for each in options)]) == 1
    assert capsys.readouterr().err == "cdma bench: the model was ended after 60 s\n"
