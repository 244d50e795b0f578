"""Firmware of the system: the C driver, the tests, and what they expect."""

from pathlib import Path

from soc import CONFIG, System, headers
from tensors import header

from cdma.driver import c
from cdma.files import make_folder, write_text
from cdma.toolchain import cc

SOURCES = Path(__file__).parent / "firmware"
#: VexRiscv "standard". This version of the specification includes the CSR instructions. GCC finds
#: its library by this name of the architecture.
MACHINE = ["-march=rv32im", "-misa-spec=2.2", "-mabi=ilp32"]
STRICT = ["-Os", "-std=gnu99", "-Wall", "-Wextra", "-Werror"]
#: Without a library; the loops of memcpy and memset must not become calls of themselves.
FREESTANDING = ["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib"]


def compile_firmware(soc: System, folder: Path) -> Path:
    """Compile the firmware for a finalized system.

    Parameters
    ----------
    soc : System
    folder : Path
        For the generated headers and the program.

    Returns
    -------
    Path
        The program as bytes of the ROM.

    Raises
    ------
    UserError
        When there is no compiler, or a source does not compile.
    """
    generated = make_folder(folder / "generated")
    for name, text in headers(soc).items():
        write_text(generated / name, text)
    write_text(folder / "tensors.h", header(CONFIG))

    import litex

    cpu = Path(litex.__file__).parent / "soc/cores/cpu/vexriscv"
    library = Path(litex.__file__).parent / "soc/software/include"
    # LiteX's headers are not written for strict warnings.
    paths = [f"-I{each}" for each in (folder, SOURCES, c.FOLDER)]
    paths += [part for each in (library, cpu) for part in ("-isystem", str(each))]
    paths += ["-isystem", str(folder)]
    elf = folder / "firmware.elf"
    cc.compile_riscv(
        [cpu / "crt0.S", *sorted(SOURCES.glob("*.c")), *c.SOURCES],
        elf,
        [*MACHINE, *STRICT, *FREESTANDING, *paths, f"-L{folder}", f"-T{SOURCES / 'link.ld'}"],
        libraries=["-lgcc"],
    )
    return cc.to_binary(elf, folder / "firmware.bin")
