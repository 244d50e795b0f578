"""The system in simulation: LiteDRAM with its model of an SDRAM, a clock loop in C++."""

from dataclasses import dataclass
from pathlib import Path

from litedram.frontend.axi import LiteDRAMAXI2Native
from litedram.modules import MT48LC4M16
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.build.io import CRG
from soc import CONFIG, System

from cdma.errors import SimulationError
from cdma.sim.compiled.build import runtime_of
from cdma.toolchain import process, verilator
from cdma.toolchain.cache import cache_folder

CLOCK_HZ = 100e6
_IO = [
    ("sys_clk", 0, Pins(1)),
    ("leds", 0, Pins(8)),
    (
        "serial",
        0,
        *(
            Subsignal(f"{way}_{name}", Pins(bits))
            for way in ("source", "sink")
            for name, bits in (("valid", 1), ("ready", 1), ("data", 8))
        ),
    ),
]
LOOP = Path(__file__).with_name("loop.cpp")


def make(add_device=None) -> tuple[System, GenericPlatform]:
    """The system, finalized; the device memory is an SDRAM unless ``add_device`` adds another."""
    platform = GenericPlatform("sim", _IO, name="sim")
    soc = System(
        platform, CRG(platform.request("sys_clk")), CLOCK_HZ, "sim", add_device or _add_sdram
    )
    soc.finalize()
    return soc, platform


def _add_sdram(soc) -> None:
    """SDRAM as wide as a beat; the engine's channel has a port of the controller for itself."""
    module = MT48LC4M16(CLOCK_HZ, "1:1")
    phy = SDRAMPHYModel(module=module, data_width=8 * CONFIG.beat_bytes, clk_freq=CLOCK_HZ)
    soc.add_module("sdrphy", phy)
    # Without a level-2 cache, the memory has what the processor wrote.
    soc.add_sdram("sdram", phy=phy, module=module, size=0x40000000, l2_cache_size=0)
    soc.add_module(
        "channel",
        LiteDRAMAXI2Native(
            soc.engine.channel,
            soc.sdram.crossbar.get_port(),
            w_buffer_depth=64,
            r_buffer_depth=64,
            base_address=soc.bus.regions["main_ram"].origin,
        ),
    )


def build(sources: list[Path], top: str, folder: Path) -> Path:
    """Compile the system with its clock loop to a program.

    Raises
    ------
    UserError
        When a program is missing.
    SimulationError
        When Verilator or the compiler fails.
    """
    env = verilator.environment()
    include = verilator.include_folder()
    options = ["--cc", "-O3", "--noassert", "--prefix", "Vsoc", "--top-module", top]
    options += [*verilator.BUILD, "--Mdir", "verilated", *map(str, sources)]
    verilator.translate(options, folder, env, "the system")
    # One file, because the headers take longer than the code of each file.
    files = [*sorted((folder / "verilated").glob("*.cpp")), LOOP]
    (folder / "all.cpp").write_text("".join(f'#include "{file}"\n' for file in files))
    program = folder / "simulate"
    flags = ["-std=c++17", "-O1", "-pthread", "-Iverilated", f"-I{include}"]
    flags += [f"-I{include / 'vltstd'}", "all.cpp"]
    versions = verilator.versions(env)
    runtime = runtime_of(cache_folder(part="builds"), env, versions, has_waves=False)
    flags += map(str, runtime)
    verilator.compile_cpp([*flags, "-o", program.name], folder, env, "the system")
    return program


@dataclass(frozen=True)
class Run:
    """A simulation.

    Parameters
    ----------
    is_good : bool
        The firmware reported success.
    log : str
        What the firmware sent to the UART.
    cycles : int
        Cycles from power-up to the end.
    """

    is_good: bool
    log: str
    cycles: int


def run(program: Path, cycles: int) -> Run:
    """Run the program in its folder, where the memories' files are, for up to ``cycles`` cycles.

    Raises
    ------
    SimulationError
        When the firmware did not end within ``cycles`` cycles, or the simulation failed.
    """
    command = [str(program), str(cycles)]
    done = process.run(command, cwd=program.parent, encoding="utf-8", errors="replace")
    if done.returncode not in (0, 1):
        end = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
        raise SimulationError(f"the simulation ended with status {done.returncode}: {end[0]}")
    return Run(done.returncode == 0, done.stdout, int(done.stderr.split()[0]))
