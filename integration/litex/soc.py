"""The system: VexRiscv, the engine, device memory and host memory on one Wishbone bus."""

import logging
from pathlib import Path

from engine import REGISTER_BYTES, Engine
from litex.build.generic_platform import GenericPlatform
from litex.soc.cores.gpio import GPIOOut
from litex.soc.integration import export
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from ram import AxiRam

from cdma import designs
from cdma.engine_config import EngineConfig

#: The smallest engine: one channel of 8 bytes, which fits a LiteDRAM port, and a link of 8 bytes.
CONFIG = EngineConfig(
    channels=1, lanes=2, word_bits=32, stripe_bytes=1024, link_bytes=8, address_bits=32,
    latency=64, link_fifo_bytes=2048,
)  # fmt: skip
ROM_BYTES = 64 << 10  # program, tensors, expected streams
STACK_BYTES = 8 << 10
HOST_BYTES = 64 << 10
DEVICE_BYTES = 64 << 10  # with on-chip device memory
#: VexRiscv does not cache addresses from 0x8000_0000 on, so host memory needs no flush.
HOST_BASE, ENGINE_BASE = 0x90000000, 0xA0000000

# LiteX and migen log every region and signal.
logging.disable(logging.WARNING)


class System(SoCCore):
    """SoC with the engine.

    The engine's channel has a port of the device memory of its own, its link has one of the host
    memory; the processor reaches both memories and the registers through the bus.

    Parameters
    ----------
    platform : GenericPlatform
        Has ``serial`` and ``leds``.
    crg : LiteXModule
        Makes the clock domain ``sys``.
    clock_hz : float
        Frequency of ``sys``.
    uart : str
        ``serial`` for pins, ``sim`` for a stream of bytes.
    add_device : callable
        Called with the system; adds the region ``main_ram`` and connects ``engine.channel``.
    """

    def __init__(self, platform, crg, clock_hz: float, uart: str, add_device):
        self.crg = crg
        SoCCore.__init__(
            self,
            platform,
            clock_hz,
            cpu_type="vexriscv",
            cpu_variant="standard",
            integrated_rom_size=ROM_BYTES,
            integrated_sram_size=STACK_BYTES,
            uart_name=uart,
            timer_uptime=True,
        )
        self.leds = GPIOOut(platform.request("leds"))
        self.engine = Engine(CONFIG)
        self.bus.add_slave(
            "engine",
            self.engine.registers,
            SoCRegion(origin=ENGINE_BASE, size=REGISTER_BYTES, cached=False),
        )
        self.irq.add("engine", use_loc_if_exists=True)
        add_ram(self, "host", self.engine.link, HOST_BASE, HOST_BYTES, cached=False)
        add_device(self)


def add_ram(soc, name: str, axi, origin: int, size: int, cached: bool) -> None:
    """Add an AXI RAM for one manager of the engine, which the processor reaches as a region."""
    ram = AxiRam(axi.data_width, origin, size, axi.id_width)
    soc.add_module(f"{name}_memory", ram)
    soc.comb += axi.connect(ram.axi)
    soc.bus.add_slave(name, ram.bus, SoCRegion(origin=origin, size=size, cached=cached))


def add_on_chip_device(soc) -> None:
    """Device memory in block RAM."""
    origin = soc.mem_map["main_ram"]
    add_ram(soc, "main_ram", soc.engine.channel, origin, DEVICE_BYTES, cached=True)


def headers(soc: System) -> dict[str, str]:
    """C headers and linker regions of a finalized system, by name, as LiteX's own software has."""
    texts = {
        "regions.ld": export.get_linker_regions(soc.mem_regions),
        "mem.h": export.get_mem_header(soc.mem_regions),
        "soc.h": export.get_soc_header(soc.constants),
        "csr.h": export.get_csr_header(
            regions=soc.csr_regions,
            constants=soc.constants,
            csr_base=soc.mem_regions["csr"].origin,
        ),
    }
    if hasattr(soc, "sdram"):
        from litedram.init import get_sdram_phy_c_header

        settings = soc.sdram.controller.settings
        texts["sdram_phy.h"] = get_sdram_phy_c_header(settings.phy, settings.timing, settings.geom)
    return texts


def load(soc: System, program: Path) -> None:
    """Put a program into the ROM."""
    contents = get_mem_data(str(program), data_width=32, endianness="little")
    soc.init_rom("rom", contents=contents, auto_size=False)


def write_verilog(soc: System, platform: GenericPlatform, folder: Path, name: str) -> list[Path]:
    """Write the system as Verilog, with the files that its memories read.

    Returns
    -------
    list of Path
        Verilog of the system, the processor and the engine; the memories' files are beside them.
    """
    fragment = soc.get_fragment()
    platform.finalize(fragment)
    output = platform.get_verilog(fragment, name=name)
    for file, text in {f"{name}.v": output.main_source, **output.data_files}.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    (folder / "engine.v").write_text(designs.engine(CONFIG), encoding="utf-8", newline="\n")
    return [folder / f"{name}.v", folder / "engine.v", *(Path(s[0]) for s in platform.sources)]
