"""Figures of a unit on a Lattice ECP5: area of the unit alone, clock of the unit in a harness."""

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.errors import UserError
from cdma.synth.flow import harness
from cdma.synth.flow.fpga.netlist import Netlist, cells_of, clock_of, ports_of
from cdma.toolchain import yowasp
from cdma.toolchain.steps import Steps
from cdma.toolchain.tool import Tool

TITLE = "ECP5 LFE5UM5G-85F speed 8"
#: LFE5UM5G-85F, speed grade 8: the device of all compared figures.
DEVICE = ["--um5g-85k", "--speed", "8", "--package", "CABGA756"]
DEVICE_LUT4 = 83_640
GOAL_MHZ = 400
#: For the engine, which spreads over the device: most of its delay is wires, so the placer gives
#: timing more weight than it does by default (docs/engine-performance.md has the effect).
FOR_ENGINE = ("--placer-heap-critexp", "4", "--placer-heap-timingweight", "30")

#: LUT4 of each cell. PFUMX and L6MUX21 connect LUTs that are counted already.
LUT4_OF = {
    "LUT4": 1,
    "CCU2C": 2,
    "TRELLIS_DPR16X4": 4,
    "PFUMX": 0,
    "L6MUX21": 0,
    "TRELLIS_FF": 0,
    "DP16KD": 0,
    "MULT18X18D": 0,
    "$scopeinfo": 0,
}


@dataclass(frozen=True)
class Area:
    """Cells of a unit on ECP5.

    Parameters
    ----------
    lut4 : int
        LUT4. A carry cell counts as two, a LUT RAM cell as four.
    flip_flops, carries, lut_rams, block_rams, multipliers : int
        Cells of type TRELLIS_FF, CCU2C, TRELLIS_DPR16X4, DP16KD and MULT18X18D.
    """

    lut4: int
    flip_flops: int
    carries: int
    lut_rams: int
    block_rams: int
    multipliers: int

    @classmethod
    def of_cells(cls, cells: dict[str, int]) -> "Area":
        """Area of a netlist, from the number of cells by type. ValueError for an unknown type."""
        unknown = sorted(set(cells) - set(LUT4_OF))
        if unknown:
            raise ValueError(f"Cells must be of {sorted(LUT4_OF)}, not {unknown[0]!r}")
        return cls(
            lut4=sum(LUT4_OF[cell] * count for cell, count in cells.items()),
            flip_flops=cells.get("TRELLIS_FF", 0),
            carries=cells.get("CCU2C", 0),
            lut_rams=cells.get("TRELLIS_DPR16X4", 0),
            block_rams=cells.get("DP16KD", 0),
            multipliers=cells.get("MULT18X18D", 0),
        )


def tools() -> list[Tool]:
    """Tools that a measurement needs. UserError when one is not installed."""
    return [yowasp.yosys(), yowasp.nextpnr_ecp5()]


def synthesise(steps: Steps, label: str, top: str, verilog: str) -> Netlist:
    """Synthesise a unit, and insert the counted netlist into the harness.

    A unit with more LUT4 than the device has an area and nothing to place.
    """
    yosys = yowasp.yosys()
    # `flatten` and hidden wire names first: `synth_ecp5` stops on some designs otherwise.
    script = f"""\
read_verilog unit.v
hierarchy -top {top}
proc
flatten
rename -hide w:*
synth_ecp5 -top {top}
delete =A:blackbox
write_json unit.json
"""
    unit = steps.run(
        f"{label}: Yosys for ECP5",
        yosys,
        ["synth.ys"],
        {"unit.v": verilog, "synth.ys": script},
        ["unit.json"],
    )["unit.json"]
    try:
        area = Area.of_cells(cells_of(unit, top))
    except ValueError as error:
        raise UserError(f"{label}: {error}") from error

    if area.lut4 > DEVICE_LUT4:
        steps.announce(f"{label}: {area.lut4:,} LUT4, the device has {DEVICE_LUT4:,}: not placed")
        return Netlist(area, None)
    ports = ports_of(unit, top)
    # The unit is a black box while the harness is mapped: no optimisation across its boundary.
    script = f"""\
read_verilog harness.v
synth_ecp5 -top harness
delete ={top}
read_json unit.json
flatten
clean
write_json harness.json
"""
    harnessed = steps.run(
        f"{label}: harness",
        yosys,
        ["harness.ys"],
        {"unit.json": unit, "harness.v": harness.verilog(top, ports), "harness.ys": script},
        ["harness.json"],
    )["harness.json"]
    return Netlist(area, harnessed)


def fmax(
    steps: Steps, label: str, netlist: Netlist, seed: int, options: Sequence[str] = ()
) -> float:
    """Place and route once, with more ``options`` of nextpnr. Returns the highest clock in MHz."""
    arguments = [*DEVICE, "--freq", str(GOAL_MHZ), "--seed", str(seed), *options]
    arguments += ["--timing-allow-fail", "--lpf-allow-unconstrained"]
    arguments += ["--json", "harness.json", "--report", "report.json"]
    report = steps.run(
        f"{label}: nextpnr seed {seed}",
        yowasp.nextpnr_ecp5(),
        arguments,
        {"harness.json": netlist.harnessed},
        ["report.json"],
    )["report.json"]
    return clock_of(label, report)
