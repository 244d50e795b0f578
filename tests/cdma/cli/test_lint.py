"""``cdma lint``."""

import json
import os

import pytest

from cdma import designs
from cdma.cli import main
from cdma.cli.lint import TOOLS
from cdma.errors import UserError
from cdma.synth.lint import check
from cdma.toolchain import yowasp

CLEAN = """\
module cdma_compressor(input aclk, input [3:0] a, output reg [3:0] y);
  always @(posedge aclk)
    y <= ~a;
endmodule
"""


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the verb in a folder of its own, on a small text in place of a unit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(designs, "unit", lambda *_: CLEAN)
    return lambda *arguments: main.main(["lint", "--unit", "compressor", *arguments])


def test_verb_says_nothing_is_wrong(run, capsys, tmp_path):
    assert run("--config", "8x32") == 0
    lines = capsys.readouterr().out.splitlines()
    found, _ = check.installed()
    assert lines == [
        *(f"compressor 8x32: {tool}: 0 findings, 0 waived" for tool in found),
        f"0 findings in {len(found)} checks",
    ]
    assert os.listdir(tmp_path) == []


def test_only_named_tools_check(run, capsys, monkeypatch):
    assert tuple(check.CHECKS) == TOOLS
    found, _ = check.installed()
    named = [tool for tool in ("slang", "yosys") if tool in found]
    if not named:
        pytest.skip("neither slang nor Yosys is installed")
    monkeypatch.setitem(check.CHECKS, "icarus", (lambda: pytest.fail("not named"), [], None))
    assert run("--config", "8x32", *(f"--tool={tool}" for tool in reversed(named))) == 0
    lines = [f"compressor 8x32: {tool}: 0 findings, 0 waived" for tool in named]
    out, err = capsys.readouterr()
    assert out.splitlines() == [*lines, f"0 findings in {len(named)} checks"]
    assert err == ""


def test_verb_names_findings_and_ends_with_1(run, capsys, monkeypatch):
    monkeypatch.setitem(
        check.CHECKS, "yosys", (yowasp.yosys, ["-p", "log -stderr Warning: odd"], check._read_yosys)
    )
    assert run("--config", "2x8b32", "--json") == 1
    result = json.loads(capsys.readouterr().out)
    findings = [finding for check in result["checks"] for finding in check["findings"]]
    assert findings == [{"tool": "yosys", "kind": "warning", "line": 0, "message": "odd"}]


def test_missing_tools_are_left_out_and_said(run, capsys, monkeypatch):
    def missing():
        raise UserError("slang is away")

    monkeypatch.setitem(check.CHECKS, "slang", (missing, [], None))
    assert run("--config", "2x8b32") == 0
    out, err = capsys.readouterr()
    assert "slang is away; left out" in err.splitlines()
    assert "slang" not in out
    assert run("--config", "2x8b32", "--tool", "slang", "--tool", "yosys") == 2
    assert capsys.readouterr().err == "cdma lint: slang is away\n", "it was asked for"
    for name in check.CHECKS:
        monkeypatch.setitem(check.CHECKS, name, (missing, [], None))
    assert run() == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("cdma lint: no tool to check with: ")


def test_a_tool_that_fails_without_a_word_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(check, "said", lambda *_: (3, "killed"))
    with pytest.raises(UserError, match=r"^Yosys failed: exit status 3, 'killed'$"):
        check.check("yosys", "unit", CLEAN, tmp_path)


def test_bad_configuration(capsys):
    assert main.main(["lint", "--config", "8"]) == 2
    assert capsys.readouterr().err.startswith("cdma lint: Configuration must be lanes x word bits")


def test_a_bad_configuration_or_file_is_refused_before_the_tools_are_made(
    refuse, monkeypatch, tmp_path
):
    monkeypatch.setattr(check, "installed", lambda _: pytest.fail("looked for the tools"))
    assert "Configuration must be lanes x word bits" in refuse("lint", "--config", "foo")
    missing = ("--unit", "compressor", "--verilog", tmp_path / "none.v")
    assert "cannot read this Verilog" in refuse("lint", *missing)


def test_a_file_in_place_of_what_is_generated(run, capsys, tmp_path):
    (tmp_path / "mine.v").write_text(CLEAN.replace("endmodule", "wire spare = a[0];\nendmodule"))
    assert run("--verilog", "mine.v") == 1
    assert "compressor as given: verilator: 1 findings" in capsys.readouterr().out


def test_a_file_is_of_one_unit(refuse, tmp_path):
    (tmp_path / "mine.v").write_text(CLEAN)
    message = refuse("lint", "--verilog", tmp_path / "mine.v")
    assert message == "cdma lint: --verilog needs one --unit, and takes no --config"
    message = refuse("lint", "--unit", "decompressor", "--verilog", tmp_path / "mine.v")
    assert message == f"cdma lint: {tmp_path}/mine.v: has no module cdma_decompressor"


def test_the_engine_as_given(capsys, tmp_path):
    (tmp_path / "mine.v").write_text(CLEAN.replace("cdma_compressor", "cdma_engine"))
    assert main.main(["lint", "--unit", "engine", "--verilog", str(tmp_path / "mine.v")]) == 0
    assert "engine as given: verilator: 0 findings" in capsys.readouterr().out


def test_sizes_of_the_engine_are_not_for_units(refuse):
    message = refuse("lint", "--unit", "compressor", "--channels", 2)
    assert message == "cdma lint: --channels is for the engine, not for units"
    message = refuse("lint", "--unit", "engine", "--channels", 3)
    assert message == "cdma lint: Number of channels must be 1, 2, 4 or 8, not 3"
