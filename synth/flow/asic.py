"""Figures of a unit in standard cells: area from Yosys, critical path from OpenSTA."""

import json
import re
from dataclasses import dataclass

from cdma.errors import UserError
from cdma.synth.flow.harness import CLOCK
from cdma.synth.liberty.library import Liberty
from cdma.toolchain import opensta, tool, yowasp
from cdma.toolchain.steps import Steps

#: ABC's delay target in ps: impossible to reach, so that ABC maps for speed.
GOAL_PS = 200
#: Load in fF that ABC assumes on each output.
LOAD_FF = 3.898
#: Period in ns for the slack. The critical path is the period minus the slack.
PERIOD_NS = 100.0

#: Scripts of ABC by name: ABC's default script, with which other projects are measured, and a
#: script that restructures the critical path, builds buffer trees and sizes gates.
FLOWS = {
    "abc": "",
    "tuned": "-script +strash;ifraig;scorr;dc2;if,-g,-K,6;strash;dch,-f;map,-B,0.9,{D};topo;"
    "buffer,-c;upsize,{D};dnsize,{D}",
}


@dataclass(frozen=True)
class Mapped:
    """A unit after mapping.

    Parameters
    ----------
    area : float
        Area of all cells in um2.
    storage : float
        Area of the flip-flops in um2.
    netlist : str
        Verilog netlist of cells.
    """

    area: float
    storage: float
    netlist: str

    @property
    def logic(self) -> float:
        """Area in um2 without storage."""
        return self.area - self.storage


@dataclass(frozen=True)
class Timing:
    """The critical path.

    Parameters
    ----------
    period_ns : float
        Shortest period.
    start, end : str
        Register or port at the start and at the end.
    gates : int
        Cells on the path.
    """

    period_ns: float
    start: str
    end: str
    gates: int


def synthesise(
    steps: Steps, label: str, top: str, verilog: str, liberty: Liberty, flow: str
) -> Mapped:
    """Map a unit onto the cells of a library. ``flow`` is a key of ``FLOWS``."""
    commands, files = mapping(liberty, flow)
    script = f"""\
read_verilog unit.v
synth -flatten -top {top}
{commands}
write_verilog -noattr -noexpr -simple-lhs mapped.v
tee -q -o stat.json stat -json -liberty cells.lib -top {top}
"""
    files = steps.run(
        f"{label}: Yosys for {liberty.name}, {flow} script",
        yowasp.yosys(),
        ["asic.ys"],
        {"unit.v": verilog, **files, "asic.ys": script},
        ["mapped.v", "stat.json"],
    )
    figures = json.loads(files["stat.json"])["design"]
    return Mapped(figures["area"], figures["sequential_area"], files["mapped.v"])


def mapping(liberty: Liberty, flow: str) -> tuple[str, dict[str, str]]:
    """Commands of Yosys that map a design onto the cells of a library, and the files they read."""
    # ABC does not see the flip-flops that an enable drives, and would insert no buffers.
    unmap = "dffunmap -ce-only" if liberty.has_enables else ""
    commands = f"""\
{unmap}
dfflibmap -liberty cells.lib
abc -liberty cells.lib -constr abc.constr -D {GOAL_PS} {FLOWS[flow]}
setundef -zero
opt_clean -purge"""
    limits = f"set_driving_cell {liberty.buffer}\nset_load {LOAD_FF} [all_outputs]\n"
    return commands, {"cells.lib": liberty.text, "abc.constr": limits}


def critical_path(
    steps: Steps, label: str, top: str, mapped: Mapped, liberty: Liberty, flow: str
) -> Timing:
    """Longest of all paths, also from inputs and to outputs, without wires."""
    script = f"""\
read_liberty cells.lib
read_verilog mapped.v
link_design {top}
set_cmd_units -time ns
create_clock -name {CLOCK} -period {PERIOD_NS} [get_ports {CLOCK}]
foreach port [all_inputs] {{
  if {{[get_property $port full_name] ne "{CLOCK}"}} {{
    set_input_delay 0 -clock {CLOCK} $port
  }}
}}
set_output_delay 0 -clock {CLOCK} [all_outputs]
report_checks -path_delay max -digits 4
"""
    answer = steps.run(
        f"{label}: OpenSTA for {liberty.name}, {flow} script",
        opensta.opensta(),
        ["sta.tcl"],
        {"cells.lib": liberty.text, "mapped.v": mapped.netlist, "sta.tcl": script},
        [tool.STDOUT],
    )[tool.STDOUT]
    return timing(label, answer, mapped.netlist)


def timing(label: str, answer: str, netlist: str) -> Timing:
    """Read a report of OpenSTA. UserError when the report has no path."""
    slack = re.search(r"^\s*(-?\d+\.\d+)\s+slack \((?:MET|VIOLATED)\)", answer, re.MULTILINE)
    if slack is None:
        lines = [line for line in answer.splitlines() if line.strip()]
        raise UserError(f"{label}: OpenSTA timed no path ({lines[-1] if lines else 'no output'})")
    start, end = (
        re.search(rf"^{point}: (\S+)", answer, re.MULTILINE)[1]
        for point in ("Startpoint", "Endpoint")
    )
    path = answer.partition("data arrival time")[0]
    pins = re.findall(r"^.*\s[v^] (\S+)/\S+ \(\w+\)$", path, re.MULTILINE)
    return Timing(
        PERIOD_NS - float(slack[1]),
        register(start, netlist),
        register(end, netlist),
        len(set(pins) - {start, end}),
    )


def register(instance: str, netlist: str) -> str:
    """Name of a flip-flop's output signal, or else of the instance."""
    found = re.search(
        rf"^  \w+ {re.escape(instance)} \((.*?)\);", netlist, re.MULTILINE | re.DOTALL
    )
    output = found and re.search(r"\.Q\(\s*\\?([^()]*?)\s*\)", found[1])
    if not output or re.fullmatch(r"_\d+_", output[1]):
        return instance
    return output[1].replace(" ", "")
