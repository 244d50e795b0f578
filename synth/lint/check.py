"""Check generated Verilog with four tools.

Verilator and slang report all their warnings. Icarus Verilog and Yosys elaborate the design, and
Yosys finds combinational loops, nets with several drivers and nets without a driver. Known and
harmless warnings are waived in :mod:`cdma.synth.lint.waivers`, by kind and wording. All other
warnings are findings.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.toolchain import icarus, slang, verilator, yowasp
from cdma.toolchain.tool import said


@dataclass(frozen=True)
class Finding:
    """A warning or an error of a tool.

    Parameters
    ----------
    tool : str
        Key of :data:`CHECKS`.
    kind : str
        The tool's name for this kind of warning, or ``error``.
    line : int
        Line of the Verilog, 0 when the tool reports no line.
    message : str
    """

    tool: str
    kind: str
    line: int
    message: str


def installed(tools: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """Keys of :data:`CHECKS` whose tools are installed, and a line for each missing tool; of
    ``tools`` only, if they are given."""
    found, missing = [], []
    for name, (program, _, _) in CHECKS.items():
        if tools is not None and name not in tools:
            continue
        try:
            program()
        except UserError as error:
            missing.append(str(error))
        else:
            found.append(name)
    return found, missing


def check(tool: str, top: str, verilog: str, scratch: Path) -> list[Finding]:
    """Findings of one tool on a design.

    Parameters
    ----------
    tool : str
        Key of :data:`CHECKS`.
    top : str
        The design's top-level module.
    verilog : str
        The whole design.
    scratch : Path
        Existing working folder for the tool.

    Raises
    ------
    UserError
        When the tool is missing, or fails without a finding.
    """
    program, arguments, read = CHECKS[tool]
    program = program()
    file = f"{top}.v"
    arguments = [argument.format(top=top, file=file) for argument in arguments]
    status, output = said(program, arguments, {file: verilog}, scratch)
    findings = [Finding(tool, *found) for found in read(output)]
    if status and not findings:
        raise UserError(f"{program.name} failed: exit status {status}, {output.strip()[:200]!r}")
    return findings


def _read_verilator(output: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^%(?:Warning|Error)(?:-(\w+))?: (?:\w+\.v:(\d+):\d+: )?(.*)$"
    for kind, line, message in re.findall(pattern, output, re.MULTILINE):
        yield kind or "error", int(line or 0), message


def _read_slang(output: str) -> Iterator[tuple[str, int, str]]:
    for found in json.loads(output[output.index("[\n") : output.rindex("\n]") + 2]):
        line = int(found["location"].split(":")[1]) if "location" in found else 0
        yield found.get("optionName", found["severity"]), line, found["message"]


def _read_icarus(output: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^\w+\.v:(\d+): (?:(warning|error): )?(.*)$"
    for line, kind, message in re.findall(pattern, output, re.MULTILINE):
        yield kind or "error", int(line), message


def _read_yosys(output: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^(?:\w+\.v:(\d+): )?(Warning|ERROR): (.*)$"
    for line, kind, message in dict.fromkeys(re.findall(pattern, output, re.MULTILINE)):
        yield kind.lower(), int(line or 0), message


#: By tool: function that finds the program, arguments, function that reads the output.
CHECKS = {
    "verilator": (
        verilator.verilator,
        ["--lint-only", "-Wall", "-Wno-fatal", "--top-module", "{top}", "{file}"],
        _read_verilator,
    ),
    "slang": (
        slang.slang,
        ["-Weverything", "--top", "{top}", "--diag-json", "-", "{file}"],
        _read_slang,
    ),
    "icarus": (
        icarus.iverilog,
        # Icarus Verilog requires a time scale if another file has one. The design has no delays.
        ["-g2005", "-Wall", "-Wno-timescale", "-t", "null", "-s", "{top}", "{file}"],
        _read_icarus,
    ),
    "yosys": (
        yowasp.yosys,
        ["-p", "read_verilog {file}; hierarchy -check -top {top}; proc; flatten; check"],
        _read_yosys,
    ),
}
