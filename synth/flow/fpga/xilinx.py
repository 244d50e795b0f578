"""Area of a unit on a 7-series FPGA of AMD (Artix, Kintex, Zynq-7000), mapped by Yosys.

There is no clock: the open place-and-route tools have no timing of these devices that AMD
documents. Mapped LUTs and flip-flops are close to those of Vivado, not the same.
"""

from cdma.errors import UserError
from cdma.synth.flow.fpga.netlist import Netlist, Rules, cells_of
from cdma.toolchain import yowasp
from cdma.toolchain.steps import Steps
from cdma.toolchain.tool import Tool

TITLE = "AMD 7 series, mapped by Yosys without place-and-route"

#: UG474: a slice has four LUT6, which are also its LUT RAM. A CARRY4 uses LUTs that are counted.
#: An inverter is counted as a LUT: Yosys leaves few, and Vivado absorbs most of these.
RULES = Rules(
    luts={
        **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
        "INV": 1,
        "CARRY4": 0,
        "MUXF7": 0,
        "MUXF8": 0,
        "SRL16E": 1,
        "SRLC32E": 1,
        "RAM32X1D": 2,
        "RAM64X1D": 2,
        "RAM128X1D": 4,
        "RAM32M": 4,
        "RAM64M": 4,
        "$scopeinfo": 0,
    },
    flip_flops={"FDRE", "FDSE", "FDCE", "FDPE"},
    carries={"CARRY4"},
    lut_rams={"RAM32X1D", "RAM64X1D", "RAM128X1D", "RAM32M", "RAM64M"},
    block_rams={"RAMB18E1", "RAMB36E1"},
)


def tools() -> list[Tool]:
    """Tools that a measurement needs. UserError when one is not installed."""
    return [yowasp.yosys()]


def synthesise(steps: Steps, label: str, top: str, verilog: str) -> Netlist:
    """Map a unit. The result has an area and nothing to place."""
    # `flatten` and hidden wire names first, as for ECP5.
    script = f"""\
read_verilog unit.v
hierarchy -top {top}
proc
flatten
rename -hide w:*
synth_xilinx -family xc7 -noiopad -noclkbuf -top {top}
delete =A:blackbox
write_json unit.json
"""
    mapped = steps.run(
        f"{label}: Yosys for AMD 7 series",
        yowasp.yosys(),
        ["synth.ys"],
        {"unit.v": verilog, "synth.ys": script},
        ["unit.json"],
    )["unit.json"]
    try:
        return Netlist(RULES.area(cells_of(mapped, top)), None)
    except ValueError as error:
        raise UserError(f"{label}: {error}") from error
