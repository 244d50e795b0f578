"""Area and clock of a unit on a Gowin GW2A, by Yosys and nextpnr with Apicula's model of it."""

from cdma.errors import UserError
from cdma.synth.flow import harness
from cdma.synth.flow.fpga.netlist import Netlist, Rules, cells_of, clock_of, ports_of
from cdma.toolchain import yowasp
from cdma.toolchain.steps import Steps
from cdma.toolchain.tool import Tool

TITLE = "Gowin GW2A-18C, speed C8/I7"
#: GW2A-LV18PG256C8/I7: 20,736 LUT4, the FPGA of the Tang Primer 20K board.
DEVICE = ["--device", "GW2A-LV18PG256C8/I7", "--vopt", "family=GW2A-18C"]
#: Pins of the harness, which nextpnr does not choose: the board's clock, a button and a LED.
PINS = {"aclk": "H11", "serial_in": "T10", "serial_out": "L14"}
GOAL_MHZ = 400

#: A bit of a carry chain occupies a LUT4, 16 words of 4 bits of LUT RAM four of them. The
#: multiplexers join LUTs that are counted.
RULES = Rules(
    luts={
        **{f"LUT{inputs}": 1 for inputs in range(1, 5)},
        **{f"MUX2_LUT{inputs}": 0 for inputs in range(5, 9)},
        "INV": 1,
        "ALU": 1,
        "RAM16SDP4": 4,
        "GND": 0,
        "VCC": 0,
        "$scopeinfo": 0,
    },
    flip_flops={
        f"DFF{edge}{kind}{enable}"
        for edge in ("", "N")
        for kind in ("", "R", "S", "C", "P")
        for enable in ("", "E")
    },
    carries={"ALU"},
    lut_rams={"RAM16SDP4"},
    block_rams={"SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM"},
)


def tools() -> list[Tool]:
    """Tools that a measurement needs. UserError when one is not installed."""
    return [yowasp.yosys(), yowasp.nextpnr_gowin()]


def synthesise(steps: Steps, label: str, top: str, verilog: str) -> Netlist:
    """Map a unit, and insert the counted netlist into the harness."""
    script = f"""\
read_verilog unit.v
hierarchy -top {top}
proc
flatten
rename -hide w:*
synth_gowin -family gw2a -noiopads -top {top}
delete =A:blackbox
write_json unit.json
"""
    unit = steps.run(
        f"{label}: Yosys for Gowin",
        yowasp.yosys(),
        ["synth.ys"],
        {"unit.v": verilog, "synth.ys": script},
        ["unit.json"],
    )["unit.json"]
    try:
        area = RULES.area(cells_of(unit, top))
    except ValueError as error:
        raise UserError(f"{label}: {error}") from error
    # The unit is a black box while the harness is mapped, as on ECP5.
    script = f"""\
read_verilog harness.v
synth_gowin -family gw2a -top harness
delete ={top}
read_json unit.json
flatten
clean
write_json harness.json
"""
    harnessed = steps.run(
        f"{label}: harness for Gowin",
        yowasp.yosys(),
        ["harness.ys"],
        {
            "unit.json": unit,
            "harness.v": harness.verilog(top, ports_of(unit, top)),
            "harness.ys": script,
        },
        ["harness.json"],
    )["harness.json"]
    return Netlist(area, harnessed)


def fmax(steps: Steps, label: str, netlist: Netlist, seed: int) -> float:
    """Place and route once. Returns the highest clock in MHz."""
    arguments = [*DEVICE, "--freq", str(GOAL_MHZ), "--seed", str(seed), "--timing-allow-fail"]
    arguments += ["--json", "harness.json", "--report", "report.json", "--vopt", "cst=pins.cst"]
    pins = "".join(f'IO_LOC "{port}" {pin};\n' for port, pin in PINS.items())
    report = steps.run(
        f"{label}: nextpnr for Gowin, seed {seed}",
        yowasp.nextpnr_gowin(),
        arguments,
        {"harness.json": netlist.harnessed, "pins.cst": pins},
        ["report.json"],
    )["report.json"]
    return clock_of(label, report)
