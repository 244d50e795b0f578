"""Builds the LiteX system with the engine for a ULX3S board: ``python integration/ecp5 DIR``."""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from cdma.errors import UserError, require
from cdma.files import make_folder, write_text

sys.path.insert(0, str(Path(__file__).parents[1] / "litex"))

CLOCK_MHZ = 35
EXAMPLE = (
    "example: python integration/ecp5 build/board; openFPGALoader -b ulx3s build/board/board.bit"
)


def build(folder: Path, clock_mhz: float, seed: int, save: Path | None) -> None:
    """Generate the system, place and route it, and write ``board.bit``.

    Parameters
    ----------
    folder : Path
        For all files.
    clock_mhz : float
        The system's clock, which nextpnr has to meet.
    seed : int
        Of nextpnr.
    save : Path or None
        File for area and clock, as JSON.
    """
    for module in ("litex", "litedram", "pythondata_cpu_vexriscv"):
        require(module, extra="soc", verb="python integration/ecp5")
    import board
    import flow
    import soc as system
    from software import compile_firmware

    from cdma.toolchain.steps import Steps

    start = time.monotonic()

    def announce(text: str) -> None:
        print(f"{time.monotonic() - start:5.0f} s  {text}", file=sys.stderr, flush=True)

    announce("LiteX makes the system")
    soc, platform = board.make(clock_mhz * 1e6)
    announce("GCC compiles the firmware")
    system.load(soc, compile_firmware(soc, make_folder(folder / "software")))
    announce("generating the engine and the system's Verilog")
    files = system.write_verilog(soc, platform, folder, "system")
    lpf = board.constraints(platform)
    write_text(folder / "board.lpf", lpf)
    sources = {file.name: file.read_text(encoding="utf-8") for file in files}
    memories = {file.name: file.read_text() for file in sorted(folder.glob("*.init"))}
    steps = Steps(announce=lambda label, _: announce(label))
    routed = flow.route(steps, "system", sources, memories, lpf, board.DEVICE, seed)
    announce("ecppack writes the bitstream")
    flow.pack(routed, folder / "board.bit")
    measured = asdict(routed.area) | {"clock_mhz": clock_mhz, "fmax_mhz": round(routed.fmax_mhz, 1)}
    if save:
        write_text(save, json.dumps(measured, indent=2) + "\n")
    print(f"{'LUT4':<12}{routed.area.lut4:>8,}")
    print(f"{'flip-flops':<12}{routed.area.flip_flops:>8,}")
    print(f"{'block RAM':<12}{routed.area.block_rams:>8,}")
    print(f"{'clock':<12}{clock_mhz:>8g} MHz asked, {routed.fmax_mhz:.1f} MHz reached")
    print(f"wrote {folder / 'board.bit'}")


def main() -> int:
    """Exit status: 0 success or skipped, 2 wrong input, a tool fails or the clock is not met."""
    parser = argparse.ArgumentParser(
        prog="python integration/ecp5", description=__doc__, epilog=EXAMPLE
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder for all files")
    parser.add_argument(
        "--clock", type=float, default=CLOCK_MHZ, metavar="MHZ", help="(default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of nextpnr (default: %(default)s)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep area and clock as JSON")
    options = parser.parse_args()
    if not 5 <= options.clock <= 200:
        print(f"board: --clock must be 5 to 200 MHz, not {options.clock:g}", file=sys.stderr)
        return 2
    from cdma.toolchain import cc

    try:
        cc.riscv_compiler()
    except UserError as error:
        print(f"board: skipped: {error}")
        return 0
    try:
        build(make_folder(options.folder).absolute(), options.clock, options.seed, options.save)
        return 0
    except UserError as error:
        print(f"board: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
