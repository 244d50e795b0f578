"""Generator for FuseSoC: reads what a core asks for, writes Verilog and a core of it.

FuseSoC calls it in an empty folder with the name of a YAML file (generator API 1.0): ``vlnv`` is
the name of the core to write, ``parameters`` are those of ``cdma_generator.core``.
"""

import json
import sys
from pathlib import Path

import yaml

from cdma.errors import UserError, refusals_as_user_errors
from cdma.generate.files import write
from cdma.hdl.zvc.config import Config

UNITS = ("compressor", "decompressor")
DEFAULTS = {"unit": "both", "config": "8x32", "prefix": None, "bench": False}


def generate(request: dict, folder: Path) -> Path:
    """Write the files that are asked for into a folder, and give the core that lists them.

    Raises
    ------
    UserError
        When a parameter is unknown or wrong.
    """
    given = request.get("parameters") or {}
    if unknown := sorted(set(given) - set(DEFAULTS)):
        raise UserError(f"parameter must be one of {', '.join(DEFAULTS)}, not {unknown[0]!r}")
    chosen = DEFAULTS | given
    if chosen["unit"] not in (*UNITS, "both"):
        raise UserError(f"unit must be compressor, decompressor or both, not {chosen['unit']!r}")
    units = UNITS if chosen["unit"] == "both" else (chosen["unit"],)
    with refusals_as_user_errors():
        config = Config.parse(str(chosen["config"]))
        options = {"prefix": chosen["prefix"], "with_template": bool(chosen["bench"])}
        paths = write(folder, config, units, **options).paths
    kinds = {".v": "verilogSource", ".sv": "systemVerilogSource"}
    files = [
        {path.name: {"file_type": kinds[path.suffix]}} for path in paths if path.suffix in kinds
    ]
    core = {
        "name": request["vlnv"],
        "filesets": {"generated": {"files": files}},
        "targets": {"default": {"filesets": ["generated"]}},
    }
    # FuseSoC reads YAML, of which JSON is a part.
    file = folder / f"{request['vlnv'].replace(':', '_')}.core"
    file.write_text(f"CAPI=2:\n{json.dumps(core, indent=2)}\n")
    return file


if __name__ == "__main__":
    try:
        generate(yaml.safe_load(Path(sys.argv[1]).read_text()), Path())
    except UserError as error:
        sys.exit(f"cdma: {error}")
