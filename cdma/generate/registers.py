"""Write the generated texts of the repository: ``python -m cdma.generate.registers``.

``docs/registers.md``, ``docs/cdma.rdl`` and the driver's ``cdma_regs.h``, of the default engine.
"""

from pathlib import Path

import cdma
from cdma.engine_config import EngineConfig
from cdma.files import write_text
from cdma.hdl.emit.registers import c_header, markdown, system_rdl
from cdma.hdl.engine.registers import register_map

#: The generated files and what makes each.
FILES = {
    "docs/registers.md": markdown,
    "docs/cdma.rdl": system_rdl,
    "cdma/driver/c/cdma_regs.h": c_header,
}


def main() -> None:
    """Write the files into the source tree."""
    root = Path(cdma.__file__).parents[1]
    table = register_map(EngineConfig())
    for name, emit in FILES.items():
        write_text(root / name, emit(table))


if __name__ == "__main__":
    main()
