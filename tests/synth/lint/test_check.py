"""Each tool catches its faults, waivers cover no more than they say, the units have no findings."""

import json
import os

import pytest

from cdma.cli import main
from cdma.errors import UserError
from cdma.hdl import emit
from cdma.hdl.zvc.config import NAMED, Config
from cdma.synth.lint import check, waivers
from cdma.synth.lint.check import Finding
from cdma.toolchain import yowasp

CLEAN = """\
module unit(input aclk, input [3:0] a, output reg [3:0] y);
  always @(posedge aclk)
    y <= ~a;
endmodule
"""
EVERY = ("verilator", "slang", "icarus", "yosys")
#: Text, and what each tool calls it.
FAULTS = {
    "unused signal": (
        "wire spare = a[0];",
        {"verilator": "UNUSEDSIGNAL", "slang": "unused-net"},
    ),
    "combinational loop": (
        "wire b, c; assign b = ~c; assign c = b | a[0];",
        {"yosys": "warning"},
    ),
    "two drivers": ("wire b; assign b = a[0]; assign b = a[1];", {"yosys": "warning"}),
    "undeclared name": (
        "assign nothing = a[0];",
        {
            "verilator": "IMPLICIT",
            "slang": "implicit-net",
            "icarus": "warning",
            "yosys": "warning",
        },
    ),
    "latch": (
        "reg b; always @* if (a[0]) b = a[1];",
        {"verilator": "LATCH", "slang": "unused-but-set-variable", "yosys": "warning"},
    ),
    "missing module": ("absent it(a);", dict.fromkeys(EVERY, "error")),
    "error of syntax": ("assign assign;", dict.fromkeys(EVERY, "error")),
}


@pytest.fixture(params=check.CHECKS)
def tool(request) -> str:
    """Each tool that is installed."""
    found, missing = check.installed()
    if request.param not in found:
        pytest.skip(f"{request.param}: {'; '.join(missing)}")
    return request.param


def test_clean_text_has_no_finding(tool, tmp_path):
    assert check.check(tool, "unit", CLEAN, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def faulty(fault: str) -> str:
    return CLEAN.replace("endmodule", f"{FAULTS[fault][0]}\nendmodule")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_finding(tool, tmp_path, fault):
    found = waivers.sort(check.check(tool, "unit", faulty(fault), tmp_path))[0]
    assert {finding.tool for finding in found} <= {tool}
    if tool in FAULTS[fault][1]:
        assert FAULTS[fault][1][tool] in {finding.kind for finding in found}


def test_a_finding_has_its_line(tool, tmp_path):
    assert check.check(tool, "unit", faulty("error of syntax"), tmp_path)[0].line == 4


def test_another_kind_or_wording_is_no_waiver():
    finding = Finding("verilator", "CMPCONST", 3, "Comparison is constant due to limited range")
    assert waivers.sort([finding])[0] == []
    others = [
        Finding("verilator", "LATCH", 3, finding.message),
        Finding("slang", "CMPCONST", 3, finding.message),
        Finding("verilator", "CMPCONST", 3, f"{finding.message}, and more"),
        Finding("verilator", "UNUSEDSIGNAL", 3, "Signal is not used: 'ready'"),
    ]
    assert waivers.sort(others) == (others, {})


def test_every_waiver_has_a_reason():
    assert all(len(waiver.reason) > 30 for waiver in waivers.WAIVERS)
    assert len(set(waivers.WAIVERS)) == len(waivers.WAIVERS)


@pytest.mark.parametrize(
    "config",
    [
        NAMED["8x32"],
        *(
            pytest.param(config, marks=pytest.mark.slow)
            for config in (*NAMED.values(), Config.of(2, 8, 32))
            if config.name != "8x32"
        ),
    ],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_units_have_no_finding(tool, tmp_path, unit, config):
    found = check.check(tool, f"cdma_{unit}", emit.verilog(unit, config), tmp_path)
    assert waivers.sort(found)[0] == []


@pytest.mark.slow
def test_every_waiver_is_needed(tmp_path):
    found, missing = check.installed()
    if missing:
        pytest.skip("; ".join(missing))
    used = {}
    for config in NAMED.values():
        for unit in ("compressor", "decompressor"):
            text = emit.verilog(unit, config)
            for tool in found:
                used |= waivers.sort(check.check(tool, f"cdma_{unit}", text, tmp_path))[1]
    assert [waiver for waiver in waivers.WAIVERS if waiver not in used] == []


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the verb in a folder of its own, on a small text in place of a unit."""
    monkeypatch.chdir(tmp_path)
    text = CLEAN.replace("module unit", "module cdma_compressor")
    monkeypatch.setattr(emit, "verilog", lambda *_: text)
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


def test_verb_names_findings_and_ends_with_1(run, capsys, monkeypatch):
    monkeypatch.setitem(
        check.CHECKS, "yosys", (yowasp.yosys, ["-p", "log -stderr Warning: odd"], check._read_yosys)
    )
    assert run("--config", "2x8b32", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    findings = [finding for check in told["checks"] for finding in check["findings"]]
    assert findings == [{"tool": "yosys", "kind": "warning", "line": 0, "message": "odd"}]


def test_missing_tools_are_left_out_and_said(run, capsys, monkeypatch):
    def missing():
        raise UserError("slang is away")

    monkeypatch.setitem(check.CHECKS, "slang", (missing, [], None))
    assert run("--config", "2x8b32") == 0
    out, err = capsys.readouterr()
    assert "slang is away; left out" in err.splitlines()
    assert "slang" not in out
    for name in check.CHECKS:
        monkeypatch.setitem(check.CHECKS, name, (missing, [], None))
    assert run() == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("cdma lint: no tool to check with: ")


def test_a_tool_that_fails_without_a_word_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(check, "said", lambda *_: (3, "killed"))
    with pytest.raises(UserError, match=r"^Yosys failed: exit status 3, 'killed'$"):
        check.check("yosys", "unit", CLEAN, tmp_path)


def test_bad_configuration(capsys):
    assert main.main(["lint", "--config", "8"]) == 2
    assert capsys.readouterr().err.startswith("cdma lint: --config must be lanes x word bits")
