"""Checks generated Verilog with four tools that read it each in its own way.

Verilator and slang complain of all they can; Icarus Verilog and Yosys elaborate, and Yosys looks
for combinational loops, nets with several drivers and nets with none. What is known and harmless is
waived in :mod:`cdma.synth.lint.waivers`, by kind and wording, so that a new kind is a finding.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.toolchain import icarus, slang, verilator, yowasp
from cdma.toolchain.tool import said


@dataclass(frozen=True)
class Finding:
    """A complaint of a tool.

    Parameters
    ----------
    tool : str
        Key of :data:`CHECKS`.
    kind : str
        The tool's name for this kind of complaint, ``error`` when it refuses the text.
    line : int
        Line of the Verilog, 0 when the tool names none.
    message : str
    """

    tool: str
    kind: str
    line: int
    message: str


def installed() -> tuple[list[str], list[str]]:
    """Keys of :data:`CHECKS` whose tools are installed, and a line for each that is not."""
    found, missing = [], []
    for name, (program, _, _) in CHECKS.items():
        try:
            program()
        except UserError as error:
            missing.append(str(error))
        else:
            found.append(name)
    return found, missing


def check(tool: str, top: str, verilog: str, scratch: Path) -> list[Finding]:
    """What one tool says of a design.

    Parameters
    ----------
    tool : str
        Key of :data:`CHECKS`.
    top : str
        The design's top-level module.
    verilog : str
        The whole design.
    scratch : Path
        Existing folder for the tool to work in.

    Raises
    ------
    UserError
        When the tool is missing, or fails and names no fault of the design.
    """
    program, arguments, read = CHECKS[tool]
    program = program()
    file = f"{top}.v"
    arguments = [argument.format(top=top, file=file) for argument in arguments]
    status, told = said(program, arguments, {file: verilog}, scratch)
    findings = [Finding(tool, *found) for found in read(told)]
    if status and not findings:
        raise UserError(f"{program.name} failed: exit status {status}, {told.strip()[:200]!r}")
    return findings


def _read_verilator(told: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^%(?:Warning|Error)(?:-(\w+))?: (?:\w+\.v:(\d+):\d+: )?(.*)$"
    for kind, line, message in re.findall(pattern, told, re.MULTILINE):
        yield kind or "error", int(line or 0), message


def _read_slang(told: str) -> Iterator[tuple[str, int, str]]:
    for found in json.loads(told[told.index("[\n") : told.rindex("\n]") + 2]):
        line = int(found["location"].split(":")[1]) if "location" in found else 0
        yield found.get("optionName", found["severity"]), line, found["message"]


def _read_icarus(told: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^\w+\.v:(\d+): (?:(warning|error): )?(.*)$"
    for line, kind, message in re.findall(pattern, told, re.MULTILINE):
        yield kind or "error", int(line), message


def _read_yosys(told: str) -> Iterator[tuple[str, int, str]]:
    pattern = r"^(?:\w+\.v:(\d+): )?(Warning|ERROR): (.*)$"
    for line, kind, message in dict.fromkeys(re.findall(pattern, told, re.MULTILINE)):
        yield kind.lower(), int(line or 0), message


#: Per tool: what finds it, its arguments, what reads its answer.
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
        # A time scale is asked for as soon as another file has one; there is no delay here.
        ["-g2005", "-Wall", "-Wno-timescale", "-t", "null", "-s", "{top}", "{file}"],
        _read_icarus,
    ),
    "yosys": (
        yowasp.yosys,
        ["-p", "read_verilog {file}; hierarchy -check -top {top}; proc; flatten; check"],
        _read_yosys,
    ),
}
