"""Builds and runs the system in simulation: ``python integration/litex DIR``."""

import argparse
import json
import sys
import time
from pathlib import Path

from cdma.errors import SimulationError, UserError, require
from cdma.files import make_folder, write_text
from cdma.toolchain import cc

CYCLES = 20_000_000


def build_and_run(folder: Path, cycles: int, is_block_ram: bool, save: Path | None) -> bool:
    """Generate, compile and simulate the system; print what its UART sends.

    Parameters
    ----------
    folder : Path
        For all files; the UART's text is in ``uart.log``.
    cycles : int
        Limit of the run.
    is_block_ram : bool
        The device memory is block RAM and not LiteDRAM.
    save : Path or None
        File for the UART's text and the number of cycles, as JSON.

    Returns
    -------
    bool
        Whether the firmware reported success.
    """
    for module in ("litex", "litedram", "pythondata_cpu_vexriscv"):
        require(module, extra="soc", verb="make soc")
    import simulation
    import soc as system
    from software import compile_firmware

    start = time.monotonic()

    def announce(text: str) -> None:
        print(f"{time.monotonic() - start:5.0f} s  {text}", file=sys.stderr, flush=True)

    announce("LiteX makes the system")
    soc, platform = simulation.make(system.add_on_chip_device if is_block_ram else None)
    announce("GCC compiles the firmware")
    system.load(soc, compile_firmware(soc, make_folder(folder / "software")))
    announce("generating the engine and the system's Verilog")
    sources = system.write_verilog(soc, platform, folder, "system")
    announce("Verilator and C++ compile the simulation")
    program = simulation.build(sources, "system", folder)
    announce("simulation")
    done = simulation.run(program, cycles)
    write_text(folder / "uart.log", done.log)
    print(done.log, end="")
    if save:
        measured = {"cycles": done.cycles, "uart": done.log.splitlines()}
        write_text(save, json.dumps(measured, indent=2) + "\n")
    announce(f"{done.cycles:,} cycles: {'success' if done.is_good else 'FAILURE'}")
    return done.is_good


def main() -> int:
    """Exit status: 0 success or skipped, 1 a failure in the system, 2 wrong input, a tool fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder for all files")
    parser.add_argument(
        "--cycles", type=int, default=CYCLES, help="limit of the run (default: %(default)s)"
    )
    parser.add_argument("--block-ram", action="store_true", help="block RAM as device memory")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the result as JSON")
    options = parser.parse_args()
    try:
        cc.riscv_compiler()
    except UserError as error:
        print(f"soc: skipped: {error}")
        return 0
    try:
        folder = make_folder(options.folder).absolute()
        is_good = build_and_run(folder, options.cycles, options.block_ram, options.save)
        return 0 if is_good else 1
    except SimulationError as error:
        print(f"soc: {error}", file=sys.stderr)
        return 1
    except UserError as error:
        print(f"soc: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
