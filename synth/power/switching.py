"""Count the changes of each net of a mapped netlist while the netlist processes a tensor.

The netlist runs in Icarus Verilog between a source and a sink that never stall. Changes are counted
in two windows: some cycles before the first beat, in which only the clock changes, and the cycles
from the first beat to the last.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.synth.power.netlist import Netlist
from cdma.toolchain import icarus, tool

#: Cycles of the window in which the unit waits for data.
IDLE_CYCLES = 32
#: Units of time in a cycle. Every path is much shorter with a delay of one unit for each cell.
_CYCLE = 1000
#: Cycles after which the simulation stops, in addition to the cycles of the beats.
_PATIENCE = 1000


@dataclass(frozen=True)
class Window:
    """Changes of each net in a number of cycles."""

    cycles: int
    toggles: dict[str, int]


@dataclass(frozen=True)
class Run:
    """Results of a simulation.

    Parameters
    ----------
    idle, busy : Window
        Windows without data, and with data.
    output : bytes
        Output of the unit.
    """

    idle: Window
    busy: Window
    output: bytes


def simulate(
    netlist: Netlist,
    packet: bytes,
    command: int | None,
    scratch: Path,
    delay: int = 0,
) -> Run:
    """Send one packet through a compressor's or decompressor's netlist.

    Parameters
    ----------
    netlist : Netlist
    packet : bytes
        The input packet.
    command : int or None
        The decompressor's command.
    scratch : Path
        Existing working folder.
    delay : int
        Delay of each cell, in units of time. With 1, changes before the inputs of a cell have
        settled (glitches) are counted. With 0, there are no glitches.

    Raises
    ------
    UserError
        When Icarus Verilog is missing or fails, or the output packet is incomplete.
    """
    files = {
        "netlist.v": netlist.verilog("netlist", delay),
        "bench.v": _bench(netlist, len(packet), command),
        "packet.hex": _beats(packet, len(netlist.ports["s_axis_tkeep"][1])),
    }
    arguments = ["-g2005", "-s", "bench", "-o", "bench.vvp", "bench.v", "netlist.v"]
    program = tool.execute(icarus.iverilog(), arguments, files, ["bench.vvp"], scratch)
    files = {**program, "packet.hex": files["packet.hex"]}
    answer = tool.execute(icarus.vvp(), ["bench.vvp"], files, ["bench.vcd", tool.STDOUT], scratch)
    said = dict(re.findall(r"^(\w+) (.*)$", answer[tool.STDOUT], re.MULTILINE))
    if "end" not in said:
        raise UserError(f"the netlist does not give the packet back: {said or 'it says nothing'}")
    first, last = int(said["first"]), int(said["end"])
    idle, busy = count(answer["bench.vcd"], [first, last])
    beats = re.findall(r"^beat (\w+) (\w+)$", answer[tool.STDOUT], re.MULTILINE)
    output = b"".join(_kept(data, keep) for data, keep in beats)
    return Run(
        Window(IDLE_CYCLES, idle),
        Window((last - first) // _CYCLE, busy),
        output,
    )


def count(vcd: str, ends: Sequence[int]) -> list[dict[str, int]]:
    """Changes of every net in the windows that end at the times ``ends``.

    Nets are the wires ``n1``, ``n2``, ... Values at the start of the dump, and changes from or to
    an unknown value, do not count.
    """
    head, _, body = vcd.partition("$enddefinitions $end")
    values: dict[str, str] = {}
    windows: list[dict[str, int]] = [{}]
    for line in body.splitlines():
        mark, code = line[:1], line[1:]
        if mark in ("0", "1"):
            if values.get(code, mark) != mark:
                windows[-1][code] = windows[-1].get(code, 0) + 1
            values[code] = mark
        elif mark in ("x", "z"):
            values.pop(code, None)
        elif mark == "#":
            while len(windows) <= len(ends) and int(code) >= ends[len(windows) - 1]:
                windows.append({})
    windows += [{} for _ in ends]
    names = re.findall(r"\$var wire 1 (\S+) (n\d+) \$end", head)
    return [
        {name: window[code] for code, name in names if code in window}
        for window in windows[: len(ends)]
    ]


def _beats(packet: bytes, size: int) -> str:
    """Lines of hexadecimal: last, keep and data of each beat."""
    lines = []
    for start in range(0, max(len(packet), 1), size):
        data = packet[start : start + size]
        keep = (1 << len(data)) - 1
        is_last = start + size >= len(packet)
        value = (is_last << size | keep) << 8 * size | int.from_bytes(data, "little")
        lines.append(f"{value:x}")
    return "\n".join(lines) + "\n"


def _kept(data: str, keep: str) -> bytes:
    kept = int(keep, 16).bit_count()
    return int(data, 16).to_bytes(len(data) // 2, "little")[:kept]


def _bench(netlist: Netlist, size: int, command: int | None) -> str:
    driven = {"aclk", "aresetn"}
    declared = [
        f"  {'reg' if name in driven else 'wire'} [{len(bits) - 1}:0] {name};"
        for name, (_, bits) in netlist.ports.items()
    ]
    joined = ", ".join(f".{name}({name})" for name in netlist.ports)
    width = len(netlist.ports["s_axis_tkeep"][1])
    beats = max(1, -(-size // width))
    return f"""\
module bench;
  localparam BEATS = {beats}, BYTES = {width}, IDLE = {IDLE_CYCLES}, HALF = {_CYCLE // 2};
  localparam COMMAND = {command or 0}, LIMIT = {20 * beats + _PATIENCE};
{chr(10).join(declared)}
  netlist netlist({joined});
{_DRIVE if command is None else _DRIVE + _COMMAND}endmodule
"""


# All inputs change with the rising edge of the clock, like outputs of registers.
_DRIVE = """\
  reg [9 * BYTES:0] beats [0:BEATS - 1];
  reg started = 0, ended = 0;
  integer index = 0, cycle = 0;
  assign s_axis_tvalid = started && index < BEATS;
  assign {s_axis_tlast, s_axis_tkeep, s_axis_tdata} = beats[index < BEATS ? index : BEATS - 1];
  assign m_axis_tready = 1;
  assign m_axis_sts_tready = 1;
  initial begin
    $readmemh("packet.hex", beats);
    $dumpfile("bench.vcd");
    aclk = 0;
    aresetn = 0;
  end
  always #HALF aclk = ~aclk;
  always @(negedge aclk) if (cycle == 16) #1 $dumpvars(1, netlist);
  always @(posedge aclk) begin
    cycle <= cycle + 1;
    aresetn <= cycle >= 8;
    started <= cycle >= 16 + IDLE;
    if (cycle == 16 + IDLE) $display("first %0d", $time);
    if (s_axis_tvalid && s_axis_tready) index <= index + 1;
    if (aresetn && m_axis_tvalid && !ended) begin
      $display("beat %h %h", m_axis_tdata, m_axis_tkeep);
      ended <= m_axis_tlast;
      if (m_axis_tlast) $display("end %0d", $time);
    end
    if (ended || cycle > LIMIT) $finish;
  end
"""
_COMMAND = """\
  reg commanded = 0;
  assign s_axis_cmd_tdata = COMMAND;
  assign s_axis_cmd_tvalid = started && !commanded;
  always @(posedge aclk) if (s_axis_cmd_tvalid && s_axis_cmd_tready) commanded <= 1;
"""
