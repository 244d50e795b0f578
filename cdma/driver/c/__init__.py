"""The driver in C99: ``cdma.h``, ``cdma.c`` and the generated ``cdma_regs.h``."""

from pathlib import Path

#: The C sources. Compile them with ``FOLDER`` on the include path.
FOLDER = Path(__file__).parent
SOURCES = (FOLDER / "cdma.c",)
HEADERS = (FOLDER / "cdma.h", FOLDER / "cdma_regs.h")
