"""Each tool catches its faults, and waivers cover no more than they say."""

import pytest

from cdma.synth.lint import check, waivers
from cdma.synth.lint.check import Finding

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
