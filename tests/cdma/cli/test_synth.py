"""``cdma synth``: what it writes, and what it says when something is missing."""

import json
from pathlib import Path

import pytest

from cdma.cli import main, synth
from cdma.errors import UserError
from cdma.synth.flow import asic, measure, scaling


@pytest.fixture
def run(monkeypatch, tmp_path, tiny):
    """Run the verb on the small unit, in a folder of its own."""
    monkeypatch.setattr(main, "VERBS", (synth,))
    monkeypatch.setattr(
        measure,
        "generated",
        lambda unit, config: measure.Design(unit, config, tiny.top, tiny.verilog),
    )
    monkeypatch.delitem(asic.FLOWS, "tuned")
    monkeypatch.delenv("CDMA_LIBERTY", raising=False)
    monkeypatch.delenv("CDMA_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: main.main(["synth", *map(str, arguments)])


def test_without_liberty_cells_are_left_out(run, capsys, tmp_path):
    assert run("--unit", "compressor", "--seeds", 1) == 0
    out, err = capsys.readouterr()
    line = "no liberty given (--liberty FILE or CDMA_LIBERTY): ASIC columns left out"
    assert line in out.splitlines()
    assert line in err.splitlines()
    assert "area um2" not in out
    assert out.count("compressor") == 1
    written = json.loads((tmp_path / "build/synth/synth.json").read_text())
    assert [record["config"] for record in written["records"]] == ["8x32"]
    assert "## ECP5" in (tmp_path / "build/synth/synth.md").read_text()


def test_several_configurations_in_cells_with_a_plot(run, capsys, tmp_path, library_file):
    status = run(
        *("--config", "8x32", "--config", "4x16b32", "--no-ecp5", "--liberty", library_file),
        *("-o", "out", "--cache", "kept", "--json"),
    )
    assert status == 0
    out, err = capsys.readouterr()
    whole = json.loads(out)
    assert [(record["unit"], record["config"]) for record in whole["records"]] == [
        ("compressor", "8x32"),
        ("decompressor", "8x32"),
        ("compressor", "4x16b32"),
        ("decompressor", "4x16b32"),
    ]
    assert all(record["ecp5"] is None for record in whole["records"])
    assert whole["records"][0]["asic"]["library"] == "toy"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("synth.json", "synth.md", "area-fmax.png", "area-fmax.svg"),
    }
    assert "steps run" in err.splitlines()[-1]


def test_liberty_from_the_environment(run, capsys, monkeypatch, library_file):
    monkeypatch.setenv("CDMA_LIBERTY", str(library_file))
    assert run("--unit", "compressor", "--no-ecp5") == 0
    assert "toy, ABC's own script" in capsys.readouterr().out


def test_without_opensta_area_is_left(run, capsys, monkeypatch, tmp_path, library_file):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert run("--unit", "compressor", "--no-ecp5", "--liberty", library_file) == 0
    out, err = capsys.readouterr()
    line = "OpenSTA not installed: no sta on the PATH (apt-get install opensta); "
    assert f"{line}critical path left out" in err.splitlines()
    assert "critical ns" in out


def test_baseline_is_written_and_compared(run, capsys, tmp_path, library_file):
    options = ("--unit", "compressor", "--no-ecp5", "--liberty", library_file)
    assert run(*options, "--save-baseline", "base.json") == 0
    assert run(*options, "--baseline", "base.json") == 0
    assert "\nagainst base.json:\n" in capsys.readouterr().out

    kept = json.loads((tmp_path / "base.json").read_text())
    kept["records"][0]["asic"]["abc"]["area_um2"] *= 0.9
    (tmp_path / "base.json").write_text(json.dumps(kept))
    assert run(*options, "--baseline", "base.json") == 1
    assert "1 worse" in capsys.readouterr().out
    # The report of an earlier run will do, and a new baseline is written even when it is worse.
    assert run(*options, "--baseline", "base.json", "--save-baseline", "new.json", "--json") == 1
    result = json.loads(capsys.readouterr().out)
    assert result["comparison"]["is_worse"]
    assert run(*options, "--baseline", "build/synth/synth.json") == 0
    assert run(*options, "--baseline", "new.json") == 0


@pytest.mark.slow
def test_another_fpga_in_place_of_ecp5(run, capsys):
    options = ("--unit", "compressor", "--config", "8x32", "--config", "16x16")
    assert run(*options, "--target", "xilinx", "--save-baseline", "fpga.json") == 0
    out, _ = capsys.readouterr()
    assert "AMD 7 series, mapped by Yosys without place-and-route\n" in out
    assert "LUT6 (-)" in out
    assert "ECP5" not in out
    records = json.loads(Path("fpga.json").read_text())["records"]
    assert [(each["config"], each["xilinx"]["flip_flops"]) for each in records] == [
        ("8x32", 33),
        ("16x16", 33),
    ]
    assert all(each["ecp5"] is None for each in records)
    assert run(*options, "--target", "xilinx", "--baseline", "fpga.json") == 0
    capsys.readouterr()

    records[0]["xilinx"]["luts"] *= 0.9
    Path("fpga.json").write_text(json.dumps({"records": records}))
    assert run(*options, "--target", "xilinx", "--baseline", "fpga.json") == 1
    assert "1 worse" in capsys.readouterr().out


def test_sweep_is_for_units(refuse):
    line = refuse("synth", "--sweep", "--unit", "engine")
    assert line.startswith("cdma synth: --sweep is for units: name the sizes of the engine with ")


def test_sweep_goes_on_and_says_what_is_missing(run, capsys, monkeypatch, library_file):
    def fail_at_four(*arguments):
        if "4x8" in arguments[1]:
            raise UserError(f"{arguments[1]}: no room")
        return synthesise(*arguments)

    synthesise = asic.synthesise
    monkeypatch.setattr(asic, "synthesise", fail_at_four)
    monkeypatch.setattr(scaling, "WORD_BITS", (8,))
    assert run("--sweep", "--unit", "compressor", "--no-ecp5", "--liberty", library_file) == 0
    out, _ = capsys.readouterr()
    assert "compressor 4x8b64: no room" in out.splitlines()
    assert "area um2 over lanes x log2(lanes)" in out
    written = json.loads(Path("build/synth/synth.json").read_text())
    assert len(written["records"]) == 6
    assert {key for record in written["records"] for key in record["asic"]} == {"library", "abc"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--no-ecp5"], "nothing to measure: --no-ecp5 and no --liberty FILE or CDMA_LIBERTY"),
        (["--liberty", "none.lib"], "none.lib: cannot read this Liberty file"),
        (["--config", "8x32", "--lanes", "8"], "give either --config or --lanes"),
        (["--config", "8x32", "--codec", "zvcplus"], "give either --config or --codec, not both"),
        (["--codec", "zvcplus", "--sweep"], "--sweep has its own sizes"),
        (["--clock", "0"], "--clock must be a clock in MHz, such as 250, not 0"),
        (["--sweep", "--lanes", "8"], "--sweep has its own sizes: leave --config, --lanes and the"),
        (["--baseline", "none.json"], "none.json: cannot read this baseline"),
        (["--target", "ise"], "argument --target: invalid choice: 'ise'"),
        (["--seeds", "0"], "argument --seeds: must be an integer of at least 1, not '0'"),
        (["--jobs", "two"], "argument --jobs: must be an integer of at least 1, not 'two'"),
        (["--unit", "codec"], "argument --unit: invalid choice: 'codec'"),
        (["--channels", "2"], "--channels is for the engine, not for units"),
        (["--unit", "engine", "--channels", "3"], "Number of channels must be 1, 2, 4 or 8, not 3"),
    ],
)
def test_mistakes_are_one_line_and_status_2(run, capsys, arguments, complaint):
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cdma synth: {complaint}")
    assert err.count("\n") == 1


def test_bad_liberty_is_one_line_and_status_2(run, capsys, tmp_path):
    path = tmp_path / "bad.lib"
    path.write_text("module m; endmodule\n")
    assert run("--liberty", path) == 2
    assert capsys.readouterr().err == (
        f"cdma synth: {path}: not a Liberty file (no library group)\n"
    )


def test_two_configurations_and_a_clock(run, capsys, library_file):
    options = ("--unit", "compressor", "--no-ecp5", "--liberty", library_file)
    assert run("--compare", "8x32", "4x16b32", "--clock", 200, *options) == 0
    out, err = capsys.readouterr()
    assert "area um2 (-), ABC's own script" in out
    assert "at 200 MHz\n" in out
    assert "wrote build/synth/synth.md and build/synth/synth.json" in err
