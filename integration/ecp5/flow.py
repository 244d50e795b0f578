"""Verilog to a bitstream: Yosys, nextpnr, ecppack."""

import os
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.files import replacing
from cdma.synth.flow.ecp5 import Area
from cdma.synth.flow.fpga.netlist import cells_of, clock_of
from cdma.toolchain import process, yowasp
from cdma.toolchain.steps import Steps

#: Cells of the board that are no logic: the PLL and the buffers of the pins.
_BOARD_CELLS = {"EHXPLLL", "TRELLIS_IO"}


@dataclass(frozen=True)
class Routed:
    """A design that was placed and routed.

    Parameters
    ----------
    area : Area
        Cells of the whole design.
    fmax_mhz : float
        Highest clock of the domain ``sys``.
    config : str
        Configuration of the device, as text for ecppack.
    """

    area: Area
    fmax_mhz: float
    config: str


def route(
    steps: Steps,
    top: str,
    sources: dict[str, str],
    memories: dict[str, str],
    lpf: str,
    device: list[str],
    seed: int,
) -> Routed:
    """Map, place and route a design with real pins.

    Parameters
    ----------
    steps : Steps
        Runs the tools, or finds their results.
    top : str
        Name of the module.
    sources, memories : dict of str
        Text of each Verilog file, and of each file that ``$readmemh`` names.
    lpf : str
        Pins and frequencies.
    device : list of str
        Options of nextpnr.
    seed : int
        Of nextpnr.

    Raises
    ------
    UserError
        When a tool is missing or fails; nextpnr does so when a clock is not met.
    """
    # `synth_ecp5` stops on some designs unless they are flat and wire names are hidden, see
    # `cdma.synth.flow.ecp5`.
    script = f"""\
read_verilog {" ".join(sources)}
hierarchy -top {top}
proc
flatten
rename -hide w:*
synth_ecp5 -top {top}
write_json board.json
"""
    netlist = steps.run(
        f"{top}: Yosys for ECP5",
        yowasp.yosys(),
        ["synth.ys"],
        {**sources, **memories, "synth.ys": script},
        ["board.json"],
    )["board.json"]
    cells = cells_of(netlist, top)
    area = Area.of_cells({kind: cells[kind] for kind in cells if kind not in _BOARD_CELLS})
    arguments = [*device, "--seed", str(seed), "--json", "board.json", "--lpf", "board.lpf"]
    # The default router did not end within half an hour.
    arguments += ["--router", "router2", "--textcfg", "board.config", "--report", "report.json"]
    done = steps.run(
        f"{top}: nextpnr seed {seed}",
        yowasp.nextpnr_ecp5(),
        arguments,
        {"board.json": netlist, "board.lpf": lpf},
        ["board.config", "report.json"],
    )
    return Routed(area, clock_of(top, done["report.json"]), done["board.config"])


def pack(routed: Routed, file: Path) -> None:
    """Write the bitstream. UserError when ecppack fails."""
    tool = yowasp.ecppack()
    text = file.with_suffix(".config")
    with replacing(text) as temporary:
        temporary.write_text(routed.config, encoding="utf-8", newline="\n")
    # In the folder of the files: the sandbox of YoWASP cannot see every other one.
    done = process.run(
        [*tool.command, "--compress", text.name, file.name],
        cwd=file.parent,
        env=os.environ | tool.environment,
    )
    if done.returncode or not file.is_file():
        raise UserError(f"ecppack failed: {(done.stderr or done.stdout).strip()[-200:]}")
